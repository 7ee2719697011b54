import type { MemoryColumn, SelectionBytes } from '../column.js';

/** The largest number of ids that is counted in four tables: with more, equal neighbours are rare and four tables do not fit in the caches. */
const interleavedLimit = 1 << 17;

/**
 * Number of occurrences of each id. Small tables are kept four times and used in rotation, since an increment of the same counter
 * has to wait for the one before it (5 million indices in long runs: 5 ms instead of 8).
 */
export class IdCounts {
  #tables: readonly [Uint32Array, Uint32Array, Uint32Array, Uint32Array];

  constructor(size = 256) {
    this.#tables = tables(size);
  }

  /** Makes room for the ids below `size`. */
  ensure(size: number): void {
    const [first] = this.#tables;
    if (size <= first.length) return;
    const next = tables(Math.max(size, Math.min(2 * first.length, size + (1 << 20))));
    const isOne = next[0] === next[1];
    this.#tables.forEach((table, index) => {
      if (isOne && index > 0 && table === first) return;
      const into = next[index]!;
      if (isOne && index > 0) for (let i = 0; i < table.length; i++) into[i]! += table[i]!;
      else into.set(table);
    });
    this.#tables = next;
  }

  /** Counts the first `length` ids; `ensure` must have made room for them. */
  add(ids: Uint32Array, length: number): void {
    const [a, b, c, d] = this.#tables;
    const even = length & ~3;
    let i = 0;
    for (; i < even; i += 4) {
      a[ids[i]!]!++;
      b[ids[i + 1]!]!++;
      c[ids[i + 2]!]!++;
      d[ids[i + 3]!]!++;
    }
    for (; i < length; i++) a[ids[i]!]!++;
  }

  /** Like `add`, for the ids whose byte in `selected`, from index `from` on, is 1. */
  addSelected(ids: Uint32Array, length: number, selected: Uint8Array, from: number): void {
    const [a, b, c, d] = this.#tables;
    const even = length & ~3;
    let i = 0;
    for (; i < even; i += 4) {
      const at = from + i;
      a[ids[i]!]! += selected[at]!;
      b[ids[i + 1]!]! += selected[at + 1]!;
      c[ids[i + 2]!]! += selected[at + 2]!;
      d[ids[i + 3]!]! += selected[at + 3]!;
    }
    for (; i < length; i++) a[ids[i]!]! += selected[from + i]!;
  }

  /** A table to whose counts the caller may add, with the size of the last `ensure`. */
  get table(): Uint32Array {
    return this.#tables[0];
  }

  /** The counts of the ids below `size`. */
  counts(size: number): Uint32Array {
    this.ensure(size);
    const [a, b, c, d] = this.#tables;
    const counts = a.slice(0, size);
    if (a !== b) for (let i = 0; i < size; i++) counts[i]! += b[i]! + c[i]! + d[i]!;
    return counts;
  }
}

function tables(size: number): readonly [Uint32Array, Uint32Array, Uint32Array, Uint32Array] {
  const one = new Uint32Array(size);
  if (size > interleavedLimit) return [one, one, one, one];
  return [one, new Uint32Array(size), new Uint32Array(size), new Uint32Array(size)];
}

/** Counts the ids of a list column's values for the selected rows, each id once per row. `counts` has room for all ids. */
export function countOncePerRow(
  { rows, offsets }: MemoryColumn,
  selection: SelectionBytes,
  ids: Uint32Array,
  counts: Uint32Array,
): void {
  const lastRow = new Int32Array(counts.length).fill(-1);
  const isAll = selection === 'all';
  const bytes = typeof selection === 'string' ? new Uint8Array(0) : selection;
  let end = 0;
  for (let row = 0; row < rows; row++) {
    let i = end;
    end = offsets![row + 1]!;
    if (!isAll && bytes[row] !== 1) continue;
    for (; i < end; i++) {
      const id = ids[i]!;
      if (lastRow[id] === row) continue;
      lastRow[id] = row;
      counts[id]! += 1;
    }
  }
}
