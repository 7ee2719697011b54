import { rowIdColumn, storesRowIds } from '../../store/row-ids.js';
import { segmentFiles, type Snapshot } from '../../store/store.js';
import { GrowingDictionary } from '../memory/growing-dictionary.js';
import { loadColumn } from '../memory/load.js';
import { SegmentFile } from '../memory/segment-file.js';
import type { RowBatch, SegmentRows } from './executor.js';
import { rowsBySegment } from './rows-by-segment.js';

/** Rows of one segment in the order of their row ids. */
interface RowStream {
  readonly segment: number;
  readonly rows: Int32Array;
  /** The id of each row. */
  readonly rowIds: Float64Array | undefined;
  /** The row id of row 0, if they are consecutive. */
  readonly base: number;
  /** The index of the next row. */
  at: number;
}

/**
 * Puts rows of an interleaved snapshot, which come segment by segment, in the order of their row ids, and gives those from `offset` on, up to
 * `limit` of them, as runs of rows of one segment. Memory is proportional to the rows.
 */
export async function* inRowIdOrder(
  snapshot: Snapshot,
  batches: AsyncIterable<RowBatch>,
  offset: number,
  limit: number,
): AsyncGenerator<SegmentRows> {
  const found = await rowsBySegment(snapshot, batches);
  const heap = new StreamHeap(found.map(([segment, rows]) => streamOf(snapshot, segment, rows)));
  let skip = offset;
  let rowsLeft = limit;
  for (let run = heap.next(); run !== undefined && rowsLeft > 0; run = heap.next()) {
    const rows = run.rows.subarray(Math.min(skip, run.rows.length)).subarray(0, rowsLeft);
    skip -= Math.min(skip, run.rows.length);
    rowsLeft -= rows.length;
    if (rows.length > 0) yield { segment: run.segment, rows };
  }
}

function streamOf(snapshot: Snapshot, number: number, rows: Int32Array): RowStream {
  const segment = snapshot.segments[number]!;
  const stream = { segment: number, rows, rowIds: undefined, base: segment.baseRowId ?? 0, at: 0 };
  if (!storesRowIds(segment)) return stream;
  const file = new SegmentFile(segmentFiles(snapshot)[number]!);
  try {
    const values = loadColumn(file, [rowIdColumn.physical], new GrowingDictionary())?.values;
    if (values?.kind !== 'numbers') throw file.damaged('has no row ids');
    const { numbers } = values;
    const sorted = segment.isAscending
      ? rows
      : rows.toSorted((a, b) => Number(numbers[a]!) - Number(numbers[b]!));
    const rowIds = Float64Array.from(sorted, (row) => numbers[row]!);
    return { ...stream, rows: sorted, rowIds };
  } finally {
    file.close();
  }
}

/** A binary heap of streams, the one with the least next row id on top. */
class StreamHeap {
  readonly #streams: RowStream[];

  constructor(streams: readonly RowStream[]) {
    // A sorted array is a heap.
    this.#streams = streams
      .filter(({ rows }) => rows.length > 0)
      .sort((a, b) => nextId(a) - nextId(b));
  }

  /** The next rows, which precede those of every other stream; undefined if none are left. */
  next(): { readonly segment: number; readonly rows: Int32Array } | undefined {
    const [top] = this.#streams;
    if (top === undefined) return undefined;
    const [, left, right] = this.#streams;
    const leastId = Math.min(left ? nextId(left) : Infinity, right ? nextId(right) : Infinity);
    const first = top.at;
    while (top.at < top.rows.length && nextId(top) < leastId) top.at++;
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
        if (child < streams.length && nextId(streams[child]!) < nextId(streams[leastAt]!))
          leastAt = child;
      if (leastAt === at) return;
      [streams[at], streams[leastAt]] = [streams[leastAt]!, streams[at]!];
      at = leastAt;
    }
  }
}

function nextId({ rows, rowIds, base, at }: RowStream): number {
  return rowIds === undefined ? base + rows[at]! : rowIds[at]!;
}
