import { costOf as costOfPredicate } from '../predicate/kinds.js';
import type { Facet } from '../request/facets.js';
import type { Selection } from './executor.js';

/** An estimate of the time of a step on an idle machine. */
export interface StepCost {
  readonly ms: number;
}

/** The part of a request on which finding rows and facets depends. */
type RowSelection = Pick<Selection, 'predicate' | 'ordering' | 'scores' | 'limit' | 'facets'>;

/*
 * The estimates are for two threads and columns in memory, and were measured on five million records (benchmarks/README.md): a
 * condition takes 1 to 20 ms, a facet 4 to 20 ms, a sort 9 ms. The same questions by SQL took 23 to 500 ms, because columns have to
 * be decoded first.
 */

/** Nanoseconds per record for the facets and the sort that are not the condition's. */
const facetNs = 3;
const nestedFacetNs = 12;
const sortNs = 2;
/** Planning a statement and opening its files, milliseconds. */
const statementMs = 4;
/** Decoding a Parquet column, nanoseconds per record. */
const decodeNs = 5;

/** The estimated cost of columns in memory over this many records. */
export function memoryCost(
  { predicate, ordering, limit, facets }: RowSelection,
  rows: number,
): StepCost {
  const { perRow, once } = costOfPredicate(predicate);
  const orderNs = limit > 0 ? sortNs * ordering.length : 0;
  const facetsNs = (facets ?? []).reduce((sum, facet) => sum + costOf(facet), 0);
  return { ms: (once + (perRow + orderNs + facetsNs) * rows) / 1e6 };
}

/** The estimated cost of SQL over this many records. */
export function sqlCost(found: RowSelection, rows: number): StepCost {
  const decodedColumns = columnsOf(found) * decodeNs;
  return { ms: statementMs + 3 * memoryCost(found, rows).ms + (decodedColumns * rows) / 1e6 };
}

function costOf(facet: Facet): number {
  if (facet.kind === 'count' || facet.kind === 'percentiles') return 2 * nestedFacetNs;
  const nested = 'nested' in facet ? facet.nested : [];
  return nested.reduce((sum, inner) => sum + costOf(inner), nested.length > 0 ? nestedFacetNs : facetNs); // prettier-ignore
}

function columnsOf({ ordering, scores, facets }: RowSelection): number {
  return 1 + ordering.length + scores.length + (facets?.length ?? 0);
}
