import { budgets } from '../budgets.js';
import { AppError } from '../errors.js';
import type { Snapshot } from '../store/store.js';
import { compile } from './compile.js';
import type { Language } from './dialect.js';
import { buckets, emptyAnswer, single } from './facet-sql.js';
import type { Facet } from './facets.js';
import type { Select } from './page.js';
import type { ParamType } from './params.js';
import type { FieldRef, Predicate, Scalar } from './predicate.js';
import { access, begin, type Spellings, type Statement } from './statement.js';

/** Over which records facets are computed, and how a statement runs. */
export interface FacetScope {
  readonly snapshot: Snapshot;
  readonly predicate: Predicate;
  readonly spellings: Spellings;
  readonly language: Language;
  readonly rows: (select: Select) => Promise<readonly (readonly unknown[])[]>;
}

/** The answer of one facet over the records that match, as JSON text (query language 3.2). */
export async function facetAnswer(scope: FacetScope, facet: Facet): Promise<string> {
  const answers = await groupedAnswers(scope, facet, []);
  return answers.get('') ?? emptyAnswer(facet);
}

/** A terms facet above the one at hand, and the terms of it that are shown. */
interface Parent {
  readonly field: FieldRef;
  readonly terms: readonly Scalar[];
}

/**
 * The answers of a facet for every combination of its parents' terms, by their JSON texts: one statement for each facet of the
 * request, however many terms the ones above it have.
 */
async function groupedAnswers(
  scope: FacetScope,
  facet: Facet,
  parents: readonly Parent[],
): Promise<ReadonlyMap<string, string>> {
  const statement = begin(scope.snapshot, scope.spellings, scope.language);
  const values = groupedValues(statement, scope.predicate, facet, parents);
  if (!values || facet.field.type === 'auto') return new Map();
  const keys = parents.map(({ field }, index) =>
    statement.dialect.json(`x${index}`, storedType(field)),
  );
  if (facet.kind === 'terms') return terms(scope, facet, parents, statement, values, keys);
  const { params } = statement;
  if (facet.kind === 'histogram') {
    const sql = buckets(statement, facet, values, keys);
    return joined(await scope.rows({ sql, params: params.list }), keys.length);
  }
  const grouping =
    keys.length > 0 ? ` GROUP BY ${parents.map((_, index) => `x${index}`).join(', ')}` : '';
  const sql = `SELECT ${[...keys, single(statement, facet)].join(', ')} FROM ${values}${grouping}`;
  const rows = await scope.rows({ sql, params: params.list });
  return new Map(
    rows.map((row) => [
      groupKey(row, keys.length),
      (row[keys.length] as string | null) ?? emptyAnswer(facet),
    ]),
  );
}

type Terms = Extract<Facet, { kind: 'terms' }>;

async function terms(
  scope: FacetScope,
  facet: Terms,
  parents: readonly Parent[],
  statement: Statement,
  values: string,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { dialect, params } = statement;
  const limit = params.add('long', BigInt(Math.min(facet.limit, budgets.facetTerms + 1)));
  const groups = parents.map((_, index) => `x${index}`);
  const counted = `SELECT ${[...groups, 'v', 'count(*) AS n'].join(', ')} FROM ${values}
    GROUP BY ${[...groups, 'v'].join(', ')}`;
  // Ties by the term itself, so that the answer is the same every time.
  const best =
    groups.length === 0
      ? `${counted} ORDER BY n DESC, v LIMIT ${limit}`
      : `SELECT * FROM (${counted}) QUALIFY row_number() OVER (
          PARTITION BY ${groups.join(', ')} ORDER BY n DESC, v) <= ${limit} ORDER BY n DESC, v`;
  const term = dialect.json('v', storedType(facet.field));
  const whole = facet.nested.length === 0 ? `'[' || ${term} || ',' || n || ']'` : `${term}, n, v`;
  const rows = await scope.rows({
    sql: `SELECT ${[...keys, whole].join(', ')} FROM (${best})`,
    params: params.list,
  });
  checkTerms(rows.length, facet);
  if (facet.nested.length === 0) return joined(rows, keys.length);

  const shown = [...new Set(rows.map((row) => scalar(row[keys.length + 2])))];
  const inside = [...parents, { field: facet.field, terms: shown }];
  const nested = await Promise.all(
    facet.nested.map((child) => groupedAnswers(scope, child, inside)),
  );
  return joined(
    rows.map((row) => {
      const own = String(row[keys.length]);
      const key = groupKey([...row.slice(0, keys.length), own], keys.length + 1);
      const answers = facet.nested.map(
        (child, index) =>
          `${JSON.stringify(child.field.name)}:${nested[index]!.get(key) ?? emptyAnswer(child)}`,
      );
      return [
        ...row.slice(0, keys.length),
        `[${own},${String(row[keys.length + 1])},{${answers.join(',')}}]`,
      ];
    }),
    keys.length,
  );
}

/**
 * A relation of one row for each value `v` of the facet's field and each combination of its record's terms `x0`, `x1`… among
 * the parents'. A list counts each distinct term once, but statistics take every element.
 */
function groupedValues(
  statement: Statement,
  predicate: Predicate,
  facet: Facet,
  parents: readonly Parent[],
): string | undefined {
  const { dialect, params, source } = statement;
  const names = [...parents.map((_, index) => `x${index}`), 'v'];
  const fields = [...parents.map(({ field }) => field), facet.field];
  const values = fields.map((field) => access(statement, field));
  if (values.some((value) => value === undefined)) return undefined;
  const selected = values.map((value, index) => `${value!.sql} AS ${names[index]!}`);
  let relation = `(SELECT ${selected.join(', ')} FROM ${source} WHERE ${compile(statement, predicate)})`;
  // One at a time: several in one SELECT would be zipped instead of combined.
  values.forEach((value, index) => {
    if (!value!.isMany) return;
    const isEvery = index === parents.length && facet.kind !== 'terms' && facet.kind !== 'count';
    const name = names[index]!;
    const spread = isEvery ? dialect.spreadAll(name) : dialect.spread(name);
    const others = names.filter((other) => other !== name);
    relation = `(SELECT ${[...others, `${spread} AS ${name}`].join(', ')} FROM ${relation})`;
  });
  const shown = parents.map(({ field, terms: list }, index) =>
    dialect.isInList(`x${index}`, params.add(storedType(field) as ParamType, list), false),
  );
  return `(SELECT * FROM ${relation} WHERE ${['v IS NOT NULL', ...shown].join(' AND ')})`;
}

/** Refuses to answer with more terms than a response may hold. */
function checkTerms(count: number, facet: Facet): void {
  if (count <= budgets.facetTerms) return;
  const message = `${facet.field.name} has more than ${budgets.facetTerms} terms (budget facetTerms); set a limit`;
  throw new AppError('budget', message, { facets: [message] });
}

/** Rows of `width` key columns and one item become one JSON list for each key. */
function joined(rows: readonly (readonly unknown[])[], width: number): ReadonlyMap<string, string> {
  const lists = new Map<string, string[]>();
  for (const row of rows) {
    const key = groupKey(row, width);
    const list = lists.get(key);
    if (list) list.push(String(row[width]));
    else lists.set(key, [String(row[width])]);
  }
  return new Map([...lists].map(([key, items]) => [key, `[${items.join(',')}]`]));
}

/** JSON texts hold no line break, so this is unambiguous. */
function groupKey(row: readonly unknown[], width: number): string {
  return row.slice(0, width).map(String).join('\n');
}

/** Dates come back from the engine as objects of their microseconds. */
function scalar(value: unknown): Scalar {
  return typeof value === 'object' && value !== null
    ? (value as { micros: bigint }).micros
    : (value as Scalar);
}

function storedType(field: FieldRef): Exclude<FieldRef['type'], 'auto'> {
  return field.type === 'auto' ? 'string' : field.type;
}
