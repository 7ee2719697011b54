import { without } from '../../core/ascending.js';
import type { Snapshot, TracedRows } from '../../store/store.js';
import type { RowRef } from './executor.js';

/** The rows of one segment in a sequence: those from `first` to before `end`. */
interface SequencePart {
  readonly segment: number;
  readonly rows: TracedRows;
  readonly first: number;
  readonly end: number;
}

/** Rows of a snapshot, of which any part is found without those before it. */
export class RowSequence {
  readonly #parts: readonly SequencePart[];
  /** The index of each row among the rows of the parts; undefined if it is the same. */
  readonly #order: Int32Array | undefined;

  private constructor(parts: readonly SequencePart[], order?: Int32Array) {
    this.#parts = parts;
    this.#order = order;
  }

  /** Rows in insertion order, by path of their segment. */
  static of({ segments }: Snapshot, rows: ReadonlyMap<string, TracedRows>): RowSequence {
    const parts: SequencePart[] = [];
    for (const [segment, { path, rows: all }] of segments.entries()) {
      const ownRows = rows.get(path);
      if (ownRows === undefined) continue;
      const first = parts.at(-1)?.end ?? 0;
      parts.push({
        segment,
        rows: ownRows,
        first,
        end: first + (ownRows === 'all' ? all : ownRows.length),
      });
    }
    return new RowSequence(parts);
  }

  get length(): number {
    return this.#order?.length ?? this.#parts.at(-1)?.end ?? 0;
  }

  /** The rows from `first` to before `end`, or to the last. */
  slice(first: number, end: number): readonly RowRef[] {
    const refs: RowRef[] = [];
    let part: SequencePart | undefined;
    for (let i = first; i < Math.min(end, this.length); i++) {
      const index = this.#order?.[i] ?? i;
      if (part === undefined || index < part.first || index >= part.end) part = this.#partOf(index);
      const row = index - part.first;
      refs.push([part.segment, part.rows === 'all' ? row : part.rows[row]!]);
    }
    return refs;
  }

  /** The rows at these indexes, in the order of the list. */
  picked(indexes: Int32Array): RowSequence {
    return new RowSequence(this.#parts, indexes);
  }

  /** The rows except those at these ascending indexes. */
  without(indexes: Int32Array): RowSequence {
    if (indexes.length === 0) return this;
    const all = new Int32Array(this.length).map((_, index) => index);
    return this.picked(without(all, indexes));
  }

  #partOf(index: number): SequencePart {
    let [low, high] = [0, this.#parts.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (index < this.#parts[middle]!.end) high = middle;
      else low = middle + 1;
    }
    return this.#parts[low]!;
  }
}
