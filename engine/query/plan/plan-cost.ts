import { costOf as costOfPredicate } from '../predicate/kinds/index.js';
import type { Facet } from '../request/facet-request.js';
import type { Selection } from '../executor/executor.js';

/** The parts of a request that determine the cost of finding rows and facets. */
type RowSelection = Pick<Selection, 'predicate' | 'ordering' | 'scoreClauses' | 'limit' | 'facets'>;

/*
 * Estimated times on an idle machine. Those of columns in memory are for two threads, and were measured on five million records: a
 * condition takes 1 to 20 ms, a facet 4 to 20 ms, a sort 9 ms. The same requests took SQL 23 to 500 ms, because columns have to be decoded
 * first. So the costs choose no executor: memory answers what it supports. They decide which queries are heavy.
 */

/** Time in nanoseconds per record for one facet without nested facets, except `count` and `percentiles`, in addition to the condition. */
const facetNsPerRecord = 3;
/**
 * Time in nanoseconds per record for one facet with nested facets, in addition to the condition and the nested facets. A facet of the kind
 * `count` or `percentiles`, which has no nested facets, takes twice as long.
 */
const nestedFacetNsPerRecord = 12;
/** Time in nanoseconds per record for one sort key, in addition to the condition. */
const sortNsPerRecord = 2;
/** Time in milliseconds for planning an SQL statement and opening its files. */
const statementPlanningMs = 4;
/** Time in nanoseconds per record for decoding a Parquet column. */
const decodeNsPerRecord = 5;

/** Time in nanoseconds per record for reading its row id and merging it with those of other segments. */
const rowIdSortNsPerRecord = 20;
/** Time in milliseconds for reading one record from cached pages. */
const readMsPerRecord = 0.02;
/** Time in nanoseconds per record of the segments for ranking by the text index. */
const indexRankNsPerRecord = 2;
/** A plan over many records with a higher estimated time, in milliseconds, is heavy (`Plan.isHeavy`). */
export const minHeavyPlanMs = 150;

/** Returns the estimated cost of finding the rows and facets with columns in memory, over `rows` records, in milliseconds. */
export function memoryCostMs(
  { predicate, ordering, limit, facets }: RowSelection,
  rows: number,
): number {
  const { perRow, once } = costOfPredicate(predicate);
  const orderNs = limit > 0 ? sortNsPerRecord * ordering.length : 0;
  const facetsNs = (facets ?? []).reduce((sum, facet) => sum + facetCostNs(facet), 0);
  return (once + (perRow + orderNs + facetsNs) * rows) / 1e6;
}

/** Returns the estimated cost of finding the rows and facets with SQL, over `rows` records, in milliseconds. */
export function sqlCostMs(selection: RowSelection, rows: number): number {
  const decodeMs = (decodedColumnCount(selection) * decodeNsPerRecord * rows) / 1e6;
  return statementPlanningMs + 3 * memoryCostMs(selection, rows) + decodeMs;
}

/** Returns the estimated cost of ranking `rows` records by the text index, in milliseconds. */
export function indexRankCostMs(rows: number): number {
  return 1 + (rows * indexRankNsPerRecord) / 1e6;
}

/** Returns the estimated cost of sorting `rows` records by their row ids, in milliseconds. */
export function rowIdSortCostMs(rows: number): number {
  return (rows * rowIdSortNsPerRecord) / 1e6;
}

/** Returns the estimated cost of reading records, in milliseconds. */
export function readCostMs(records: number): number {
  return records * readMsPerRecord;
}

function facetCostNs(facet: Facet): number {
  if (facet.kind === 'count' || facet.kind === 'percentiles') return 2 * nestedFacetNsPerRecord;
  const nested = 'nested' in facet ? facet.nested : [];
  return nested.reduce((sum, inner) => sum + facetCostNs(inner), nested.length > 0 ? nestedFacetNsPerRecord : facetNsPerRecord); // prettier-ignore
}

function decodedColumnCount({ ordering, scoreClauses, facets }: RowSelection): number {
  return 1 + ordering.length + scoreClauses.length + (facets?.length ?? 0);
}
