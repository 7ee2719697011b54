import { setImmediate } from 'node:timers/promises';
import { ascendingOrder, subtractSorted } from '../../core/sorted-sets.js';
import { rowIdRanges } from '../../store/row-ids.js';
import type { RowRef, Snapshot, SegmentRowSet } from '../../store/store.js';
import { readRowIds } from './row-id-order.js';

/** The rows of one segment, which have the indexes `first` to `end` (exclusive) among the rows of all segments of the sequence. */
interface SegmentRun {
  readonly segment: number;
  readonly rows: SegmentRowSet;
  readonly first: number;
  readonly end: number;
}

/** Rows of a snapshot. Any part of the sequence can be read without the rows before it. */
export class RowSequence {
  readonly #parts: readonly SegmentRun[];
  /** For each row of the sequence, its index among the rows of `#parts`; undefined if both have the same order. */
  readonly #order: Int32Array | undefined;

  private constructor(parts: readonly SegmentRun[], order?: Int32Array) {
    this.#parts = parts;
    this.#order = order;
  }

  /** Returns a sequence of rows in insertion order; `rows` has them by the path of their segment, which the snapshot must have. */
  static async fromSnapshot(
    snapshot: Snapshot,
    rows: ReadonlyMap<string, SegmentRowSet>,
  ): Promise<RowSequence> {
    const segmentRuns: SegmentRun[] = [];
    for (const [segment, { path, rows: all }] of snapshot.segments.entries()) {
      const ownRows = rows.get(path);
      if (ownRows === undefined) continue;
      const first = segmentRuns.at(-1)?.end ?? 0;
      segmentRuns.push({
        segment,
        rows: ownRows,
        first,
        end: first + (ownRows === 'all' ? all : ownRows.length),
      });
    }
    if (segmentRuns.length < rows.size)
      throw new Error(`version ${snapshot.version} lacks segments of the rows`);
    const storedOrder = new RowSequence(segmentRuns);
    if (!snapshot.isInterleaved) return storedOrder;
    const order = ascendingOrder(await storedOrder.rowIds(snapshot));
    return order === undefined ? storedOrder : new RowSequence(segmentRuns, order);
  }

  /** Reads the row ids of the rows, in their order. Files are read only of segments that store row ids. */
  async rowIds(snapshot: Snapshot): Promise<Float64Array> {
    const firstRowIds = [...rowIdRanges(snapshot.segments)].map(({ first }) => first);
    const inParts = new Float64Array(this.#parts.at(-1)?.end ?? 0);
    for (const { segment, rows, first } of this.#parts) {
      inParts.set(readRowIds(snapshot, segment, rows, firstRowIds[segment]!), first);
      await setImmediate(); // other work can run between two segments
    }
    return this.#order === undefined ? inParts : Float64Array.from(this.#order, (i) => inParts[i]!);
  }

  get length(): number {
    return this.#order?.length ?? this.#parts.at(-1)?.end ?? 0;
  }

  /** The size in bytes of the order that the sequence keeps besides the rows that it was given; 0 if it keeps none. */
  get orderBytes(): number {
    return this.#order?.byteLength ?? 0;
  }

  /** Returns the rows from `first` to `end` (exclusive), or to the last row. */
  slice(first: number, end: number): readonly RowRef[] {
    const refs: RowRef[] = [];
    let part: SegmentRun | undefined;
    for (let i = first; i < Math.min(end, this.length); i++) {
      const index = this.#order?.[i] ?? i;
      if (part === undefined || index < part.first || index >= part.end) part = this.#partOf(index);
      const row = index - part.first;
      refs.push([part.segment, part.rows === 'all' ? row : part.rows[row]!]);
    }
    return refs;
  }

  /** Returns a sequence of the rows at these indexes, in the order of `indexes`. */
  selectIndexes(indexes: Int32Array): RowSequence {
    if (indexes.length === this.length && indexes.every((index, i) => index === i)) return this;
    const order = this.#order;
    return new RowSequence(this.#parts, order ? indexes.map((index) => order[index]!) : indexes);
  }

  /** Returns the sequence without the rows at these ascending indexes. */
  excludeIndexes(indexes: Int32Array): RowSequence {
    if (indexes.length === 0) return this;
    const all = new Int32Array(this.length).map((_, index) => index);
    return this.selectIndexes(subtractSorted(all, indexes));
  }

  #partOf(index: number): SegmentRun {
    let [low, high] = [0, this.#parts.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (index < this.#parts[middle]!.end) high = middle;
      else low = middle + 1;
    }
    return this.#parts[low]!;
  }
}
