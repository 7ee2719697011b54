import { ascendingOrder } from '../../core/sorted-sets.js';
import { rowIdColumn, storesRowIds } from '../../store/row-ids.js';
import { segmentFiles, type Snapshot, type SegmentRowSet } from '../../store/store.js';
import { loadColumn } from '../memory/load-column.js';
import { SegmentFile } from '../../store/segment-file.js';
import type { RowBatch, SegmentRows } from '../executor/executor.js';
import { groupRowsBySegment } from './rows-by-segment.js';

/** Rows of one segment, sorted by their row ids. */
interface RowStream {
  readonly segment: number;
  readonly rows: Int32Array;
  /** The row id of each element of `rows`; undefined if the segment does not store row ids, which are then consecutive. */
  readonly rowIds: Float64Array | undefined;
  /** The row id of the segment's row 0; used if row ids are consecutive. */
  readonly base: number;
  /** The index in `rows` of the next row. */
  at: number;
}

/**
 * Sorts the rows of an interleaved snapshot, which arrive segment by segment, by their row ids. Yields at most `limit` of them from
 * `offset` on, as runs of rows of one segment. Memory is proportional to the number of rows.
 */
export async function* sortByRowIds(
  snapshot: Snapshot,
  batches: AsyncIterable<RowBatch> | Iterable<RowBatch>,
  offset: number,
  limit: number,
): AsyncGenerator<SegmentRows> {
  const rowsBySegment = await groupRowsBySegment(snapshot, batches);
  const heap = new StreamHeap(
    rowsBySegment.map(([segment, rows]) => rowStreamOf(snapshot, segment, rows)),
  );
  let skip = offset;
  let rowsLeft = limit;
  for (let run = heap.nextRun(); run !== undefined && rowsLeft > 0; run = heap.nextRun()) {
    const rows = run.rows.subarray(Math.min(skip, run.rows.length)).subarray(0, rowsLeft);
    skip -= Math.min(skip, run.rows.length);
    rowsLeft -= rows.length;
    if (rows.length > 0) yield { segment: run.segment, rows };
  }
}

function rowStreamOf(snapshot: Snapshot, number: number, rows: Int32Array): RowStream {
  const segment = snapshot.segments[number]!;
  const base = segment.baseRowId ?? 0;
  const stream = { segment: number, rows, rowIds: undefined, base, at: 0 };
  if (!storesRowIds(segment)) return stream;
  const rowIds = readRowIds(snapshot, number, rows, base);
  const order = segment.isAscending ? undefined : ascendingOrder(rowIds);
  if (order === undefined) return { ...stream, rowIds };
  const sortedRows = order.map((i) => rows[i]!);
  return { ...stream, rows: sortedRows, rowIds: Float64Array.from(order, (i) => rowIds[i]!) };
}

/**
 * Returns the row ids of rows of a segment, in the order of `rows`; `base` is the row id of row 0 if the segment does not store row ids.
 * Throws `damaged`.
 */
export function readRowIds(
  snapshot: Snapshot,
  number: number,
  rows: SegmentRowSet,
  base: number,
): Float64Array {
  const segment = snapshot.segments[number]!;
  const rowIds = new Float64Array(rows === 'all' ? segment.rows : rows.length);
  if (!storesRowIds(segment)) {
    for (let i = 0; i < rowIds.length; i++) rowIds[i] = base + (rows === 'all' ? i : rows[i]!);
    return rowIds;
  }
  const file = new SegmentFile(segmentFiles(snapshot)[number]!);
  try {
    const values = loadColumn(file, [rowIdColumn.physical])?.values;
    if (values?.kind !== 'numbers') throw file.damagedError('has no row ids');
    const { numbers } = values;
    for (let i = 0; i < rowIds.length; i++) rowIds[i] = numbers[rows === 'all' ? i : rows[i]!]!;
    return rowIds;
  } finally {
    file.close();
  }
}

/** A binary heap of streams; the stream with the smallest next row id is at the top. */
class StreamHeap {
  readonly #streams: RowStream[];

  constructor(streams: readonly RowStream[]) {
    // A sorted array is a valid heap.
    this.#streams = streams
      .filter(({ rows }) => rows.length > 0)
      .sort((a, b) => nextRowId(a) - nextRowId(b));
  }

  /** Returns the next rows of one segment, which precede the rows of all other streams; undefined if no rows remain. */
  nextRun(): { readonly segment: number; readonly rows: Int32Array } | undefined {
    const [top] = this.#streams;
    if (top === undefined) return undefined;
    const [, left, right] = this.#streams;
    const leastId = Math.min(
      left ? nextRowId(left) : Infinity,
      right ? nextRowId(right) : Infinity,
    );
    const first = top.at;
    while (top.at < top.rows.length && nextRowId(top) < leastId) top.at++;
    const rows = top.rows.subarray(first, top.at);
    if (top.at === top.rows.length) {
      const last = this.#streams.pop()!;
      if (last !== top) this.#streams[0] = last;
    }
    this.#sink();
    return { segment: top.segment, rows };
  }

  #sink(): void {
    const streams = this.#streams;
    for (let at = 0; ;) {
      let leastAt = at;
      for (const child of [2 * at + 1, 2 * at + 2])
        if (child < streams.length && nextRowId(streams[child]!) < nextRowId(streams[leastAt]!))
          leastAt = child;
      if (leastAt === at) return;
      [streams[at], streams[leastAt]] = [streams[leastAt]!, streams[at]!];
      at = leastAt;
    }
  }
}

function nextRowId({ rows, rowIds, base, at }: RowStream): number {
  return rowIds === undefined ? base + rows[at]! : rowIds[at]!;
}
