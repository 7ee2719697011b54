import { LruCache } from '../../core/lru-cache.js';
import type { RowRef, Snapshot } from '../../store/store.js';
import type { SelectedRows, Selection } from '../executor/executor.js';
import type { RunOptions } from '../executor/run-options.js';
import type { ProjectedColumn } from '../results/projection.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import { askShardsOfSegments, prepareQuery, sortedRows } from './segment-requests.js';
import { rowRefsOfPairs } from './shard-protocol.js';
import { readRecordsOfShards } from './shard-records.js';
import type { Shards } from './shards.js';
import { rowIdKey } from './top-rows.js';

/** What is cached of an interleaved snapshot. */
interface FirstRows {
  /** The first rows in the order of their row ids, as pairs of a segment and a row. */
  pairs: Float64Array;
  /** The texts of the first records, by projection. */
  readonly texts: LruCache<readonly ProjectedColumn[], readonly string[]>;
}

const firstRowsBySnapshot = new WeakMap<Snapshot, FirstRows>();
/** The number of first rows that are looked for is a multiple of this. */
const firstRowsStep = 1_000;
/** The maximum number of characters of all cached texts of a snapshot. */
const maxTextLength = 1_000_000;

/**
 * Returns whether a page is one of all records of an interleaved snapshot in the order of their row ids, without facets and without a
 * cursor.
 */
export function isPageOfAllRecords(
  { isInterleaved = false }: Snapshot,
  { predicate, ordering, limit, facets, cursor }: Selection,
): boolean {
  const isPlain = facets === null && cursor === undefined && ordering.length === 0;
  return isInterleaved && predicate.kind === 'all' && isPlain && limit > 0;
}

/**
 * Selects a page of all records. The first rows are cached, and the texts of the first page, because clients page through a version and
 * ask for its first page again: its records are in several segments, which belong to several threads. When the cached rows do not reach as
 * far as the page, at least twice as many are looked for.
 */
export async function selectFirstRows(
  shards: Shards,
  snapshot: Snapshot,
  selection: Selection,
  options: RunOptions,
): Promise<SelectedRows | Unsupported> {
  const { predicate, offset, limit } = selection;
  const end = Math.min(offset + limit, snapshot.rows);
  let firstRows = firstRowsBySnapshot.get(snapshot);
  if (firstRows === undefined) {
    firstRows = { pairs: new Float64Array(0), texts: new LruCache(maxTextLength) };
    firstRowsBySnapshot.set(snapshot, firstRows);
  }
  if (firstRows.pairs.length < 2 * end) {
    const prepared = await prepareQuery(shards, snapshot, predicate, 0);
    const first = Math.max(firstRows.pairs.length, Math.ceil(end / firstRowsStep) * firstRowsStep);
    const query = { predicate, ordering: [rowIdKey], first, facets: null };
    const answers = await askShardsOfSegments(shards, prepared, query, options);
    if (isUnsupported(answers)) return answers;
    const topRows = sortedRows(answers, query.ordering, 0, first);
    firstRows.pairs = Float64Array.from(topRows.flatMap(({ segment, row }) => [segment, row]));
  }
  const rows = rowRefsOfPairs(firstRows.pairs.subarray(2 * offset, 2 * end));
  const records =
    offset === 0
      ? await firstTexts(shards, snapshot, selection, rows, options, firstRows)
      : undefined;
  return { total: snapshot.rows, rows, facets: null, records };
}

/** Returns the records in the first rows; undefined if the page does not consist of texts, or if a shard refuses to read its records. */
async function firstTexts(
  shards: Shards,
  snapshot: Snapshot,
  { layout }: Selection,
  rows: readonly RowRef[],
  options: RunOptions,
  { texts }: FirstRows,
): Promise<readonly string[] | undefined> {
  if (layout?.format.kind !== 'texts') return undefined;
  const { projection, format } = layout;
  const cachedTexts = texts.get(projection);
  if (cachedTexts !== undefined && cachedTexts.length >= rows.length)
    return cachedTexts.slice(0, rows.length);
  const page = { projection, format };
  const records = await readRecordsOfShards(shards, snapshot, rows, page, false, options);
  if (isUnsupported(records)) return undefined;
  const length = records.reduce((sum, text) => sum + text.length, 0);
  texts.set(projection, records, length);
  return records;
}
