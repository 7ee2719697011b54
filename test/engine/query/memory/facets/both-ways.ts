import { isUnsupported } from '../../../../../engine/query/unsupported.js';
import { structuredCloned } from './clone.js';
import { facetAnswers } from '../../../../../engine/query/sql/facet-answer.js';
import type { Facet } from '../../../../../engine/query/request/facets.js';
import {
  all,
  node,
  none,
  type Predicate,
} from '../../../../../engine/query/predicate/predicate.js';
import { accumulator } from '../../../../../engine/query/memory/facets/accumulator.js';
import { facetJson } from '../../../../../engine/query/memory/facets/facet-json.js';
import type { FacetPartial } from '../../../../../engine/query/memory/facets/partial.js';
import type { SelectionBytes } from '../../../../../engine/query/memory/column.js';
import { recordId, type Bench, type Dataset, type TestRow } from '../../dataset.js';
import type { MadeDataset } from '../../naive-fields.js';
import type { Random } from '../../random.js';
import { madeView, type Dictionaries } from './made-view.js';

/** A selection of records: marks for the columns, a condition for the SQL engine, and the records themselves. */
export interface Chosen {
  readonly selections: readonly SelectionBytes[];
  readonly predicate: Predicate;
  readonly rows: readonly TestRow[];
}

/** Selects all records, none, or each with a random probability. */
export function chosenRecords(random: Random, { segments }: MadeDataset): Chosen {
  const share = random.pick([0, 0.1, 0.5, 0.9, 1, 1]);
  const marks = segments.map(({ rows }) => Uint8Array.from(rows, () => (random.next() < share ? 1 : 0))); // prettier-ignore
  const ids = marks.flatMap((own, chunk) => [...own].flatMap((mark, row) => (mark === 1 ? [recordId(chunk, row)] : []))); // prettier-ignore
  const rows = segments.flatMap((segment, chunk) => segment.rows.filter((_, row) => marks[chunk]![row] === 1)); // prettier-ignore
  const selections = marks.map((own): SelectionBytes => {
    if (own.every((mark) => mark === 1) && random.chance(0.8)) return 'all';
    return own.every((mark) => mark === 0) && random.chance(0.8) ? 'none' : own;
  });
  const field = { name: '_id', path: ['_id'], type: 'string' } as const;
  const listed = ids.length === 0 ? none : node({ kind: 'in', field, values: ids, ignoreCase: false }); // prettier-ignore
  return { selections, predicate: share === 1 ? all : listed, rows };
}

/** The answers of the SQL path. */
export async function answeredBySql(
  { engine }: Bench,
  { snapshot }: Dataset,
  predicate: Predicate,
  facets: readonly Facet[],
): Promise<readonly string[]> {
  const answers = await facetAnswers(
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

/** The same from columns, which several threads have counted; undefined if they cannot count the values. */
export function answeredByColumns(
  random: Random,
  { segments }: MadeDataset,
  selections: readonly SelectionBytes[],
  facets: readonly Facet[],
): readonly string[] | undefined {
  const threads = Array.from({ length: 1 + random.below(3) }, () => ({
    dictionaries: new Map() as Dictionaries,
    counter: accumulator(facets),
  }));
  segments.forEach(({ columns, rows }, index) => {
    const { dictionaries, counter } = random.pick(threads);
    counter.add(madeView(random, columns, rows, dictionaries), selections[index]!);
  });
  const partials: (readonly FacetPartial[])[] = [];
  for (const { counter } of threads) {
    const own = counter.partial();
    if (isUnsupported(own)) return undefined;
    partials.push(structuredCloned(own));
  }
  return facetJson(facets, partials);
}
