import { isUnsupported } from '../../../../../engine/query/unsupported.js';
import { cloneAcrossThreads } from './clone.js';
import { computeFacetAnswers } from '../../../../../engine/query/sql/compute-facets.js';
import type { Facet } from '../../../../../engine/query/request/facet-request.js';
import {
  all,
  freezePredicate,
  none,
  type Predicate,
} from '../../../../../engine/query/predicate/predicate.js';
import { createFacetAccumulator } from '../../../../../engine/query/memory/facets/accumulator.js';
import { facetJson } from '../../../../../engine/query/memory/facets/facet-json.js';
import type { FacetPartial } from '../../../../../engine/query/memory/facets/facet-partial.js';
import type { SelectionBytes } from '../../../../../engine/query/memory/match/column.js';
import { recordId, type EngineFixture, type TestDataset, type TestRow } from '../../dataset.js';
import type { GeneratedDataset } from '../../naive-fields.js';
import type { Random } from '../../random.js';
import { randomSegmentView, type Dictionaries } from './random-typed-view.js';

/**
 * A selection of records in three forms: as selection vectors for columns in memory, as a condition for the SQL engine, and as the records
 * themselves.
 */
export interface RandomSelection {
  readonly selections: readonly SelectionBytes[];
  readonly predicate: Predicate;
  readonly rows: readonly TestRow[];
}

/** Selects all records, none, or each with a random probability. */
export function selectRandomRecords(
  random: Random,
  { segments }: GeneratedDataset,
): RandomSelection {
  const share = random.pick([0, 0.1, 0.5, 0.9, 1, 1]);
  const marks = segments.map(({ rows }) => Uint8Array.from(rows, () => (random.next() < share ? 1 : 0))); // prettier-ignore
  const ids = marks.flatMap((own, chunk) => [...own].flatMap((mark, row) => (mark === 1 ? [recordId(chunk, row)] : []))); // prettier-ignore
  const rows = segments.flatMap((segment, chunk) => segment.rows.filter((_, row) => marks[chunk]![row] === 1)); // prettier-ignore
  const selections = marks.map((own): SelectionBytes => {
    if (own.every((mark) => mark === 1) && random.chance(0.8)) return 'all';
    return own.every((mark) => mark === 0) && random.chance(0.8) ? 'none' : own;
  });
  const field = { name: '_id', path: ['_id'], type: 'string' } as const;
  const idPredicate = ids.length === 0 ? none : freezePredicate({ kind: 'in', field, values: ids, ignoreCase: false }); // prettier-ignore
  return { selections, predicate: share === 1 ? all : idPredicate, rows };
}

/** Returns the answers of the SQL engine to facets. */
export async function computeAnswersBySql(
  { engine }: EngineFixture,
  { snapshot }: TestDataset,
  predicate: Predicate,
  facets: readonly Facet[],
): Promise<readonly string[]> {
  const answers = await computeFacetAnswers(
    {
      snapshot,
      predicate,
      caseVariants: new Map(),
      language: engine.sql.engine.language,
      rows: ({ sql, params }) => engine.sql.engine.run(sql, params),
    },
    facets,
  );
  return answers.facets;
}

/**
 * Returns the answers to facets from columns in memory, which one to three accumulators count as threads would; undefined if columns cannot
 * count the values.
 */
export function computeAnswersByColumns(
  random: Random,
  { segments }: GeneratedDataset,
  selections: readonly SelectionBytes[],
  facets: readonly Facet[],
): readonly string[] | undefined {
  const threads = Array.from({ length: 1 + random.integerBelow(3) }, () => ({
    dictionaries: new Map() as Dictionaries,
    counter: createFacetAccumulator(facets),
  }));
  segments.forEach(({ columns, rows }, index) => {
    const { dictionaries, counter } = random.pick(threads);
    counter.add(randomSegmentView(random, columns, rows, dictionaries), selections[index]!);
  });
  const partials: (readonly FacetPartial[])[] = [];
  for (const { counter } of threads) {
    const partial = counter.partial();
    if (isUnsupported(partial)) return undefined;
    partials.push(cloneAcrossThreads(partial));
  }
  return facetJson(facets, partials);
}
