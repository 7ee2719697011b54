import type { Snapshot } from '../../store/store.js';
import type { DialectFactory } from './dialect/dialect.js';
import { normalizeJsonNumbers } from '../results/number-text.js';
import { planFacets, type FacetNode } from './facet-plan.js';
import {
  aggregateCount,
  BucketCount,
  bucketJson,
  bucketKeyJson,
  bucketlessAnswerJson,
  emptyAnswerJson,
} from '../results/facet-answer.js';
import type { Facet } from '../request/facet-request.js';
import type { SelectStatement } from './dialect/statement.js';
import type { CaseVariants, Predicate } from '../predicate/predicate.js';
import { newStatement } from './dialect/statement.js';

/** The records over which facets are computed, the SQL dialect, and the function that executes a statement. */
interface FacetScope {
  readonly snapshot: Snapshot;
  readonly predicate: Predicate;
  readonly caseVariants: CaseVariants;
  readonly language: DialectFactory;
  readonly rows: (select: SelectStatement) => Promise<readonly (readonly unknown[])[]>;
}

/** The answers of several facets, and the number of matching records. */
interface FacetAnswers {
  readonly total: number;
  /** The JSON text of each answer (query language 3.2), in the order of the facets. */
  readonly facets: readonly string[];
}

/** Computes the answers of all facets over the matching records with one statement. Throws `budget` if there are too many buckets. */
export async function computeFacetAnswers(
  scope: FacetScope,
  facets: readonly Facet[],
): Promise<FacetAnswers> {
  if (scope.snapshot.rows === 0) return { total: 0, facets: facets.map(emptyAnswerJson) };
  const statement = newStatement(scope.snapshot, scope.caseVariants, scope.language);
  const { roots, depth, totalBranch, sql, params } = planFacets(statement, scope.predicate, facets);
  const branches: Map<string, (readonly unknown[])[]>[] = [];
  for (const row of await scope.rows({ sql, params })) {
    const groups = (branches[Number(row[0])] ??= new Map<string, (readonly unknown[])[]>());
    const key = bucketCombinationKey(row.slice(2, 2 + depth));
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  checkBucketBudgets(roots, branches);
  const [textColumn, count] = [depth + 2, depth + 3];
  const rowsOf = (branch: number | undefined, above: readonly unknown[]): ResultRows =>
    (branch === undefined
      ? undefined
      : branches[branch]?.get(
          bucketCombinationKey([...above, ...nullKeys(depth - above.length)]),
        )) ?? [];

  const answer = (node: FacetNode, above: readonly unknown[]): string => {
    const rows = rowsOf(node.branch, above);
    if (rows.length === 0) return emptyAnswerJson(node.facet);
    if (node.kind === 'flat') {
      const texts = jsonListMembers(rows[0]![textColumn]);
      return bucketlessAnswerJson(
        node.facet,
        texts.slice(node.start, node.start + aggregateCount(node.facet)),
      );
    }
    const items = rows.map((row) => {
      const ownKey = row[textColumn];
      const nested = node.nested.map((child) => answer(child, [...above, ownKey]));
      const key = bucketKeyJson(node.facet, String(ownKey));
      return bucketJson(key, String(row[count]), node.facet.nested, nested);
    });
    return `[${items.join(',')}]`;
  };
  return {
    total: Number(jsonListMembers(rowsOf(totalBranch, [])[0]?.[textColumn])[0] ?? 0),
    facets: roots.map((node) => normalizeJsonNumbers(answer(node, []))),
  };
}

type ResultRows = readonly (readonly unknown[])[];

/** Returns a map key for a combination of buckets. JSON texts contain no line breaks, so the key is unambiguous. */
function bucketCombinationKey(keys: readonly unknown[]): string {
  return keys.length === 0 ? '' : keys.map(String).join('\n');
}

function nullKeys(count: number): readonly null[] {
  return Array.from({ length: count }, () => null);
}

/** Returns the members of a JSON list of numbers and nulls as texts, because a long may exceed 2^53. */
function jsonListMembers(list: unknown): readonly string[] {
  return String(list).replace(/^\[/, '').replace(/\]$/, '').split(',');
}

/** Throws `budget` if there are more terms or bins than an answer may have. */
function checkBucketBudgets(
  roots: readonly FacetNode[],
  branches: readonly ReadonlyMap<string, ResultRows>[],
): void {
  const count = new BucketCount();
  const visit = (node: FacetNode): void => {
    if (node.kind === 'flat' || node.branch === undefined) return;
    for (const rows of branches[node.branch]?.values() ?? []) count.add(node.facet, rows.length);
    node.nested.forEach(visit);
  };
  roots.forEach(visit);
}
