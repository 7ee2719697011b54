import type { Column, Mask } from '../column.js';

/** Beyond so many slots one table is enough: few values in a row are the same, and four tables would leave the caches. */
const laneLimit = 1 << 17;

/**
 * Counts slots. Up to a limit in four tables in turn: in one, an addition to the count of the value before has to wait for that
 * one (5 M codes, the same for long stretches: 5 ms instead of 8).
 */
export class Tally {
  #tables: readonly [Uint32Array, Uint32Array, Uint32Array, Uint32Array];

  constructor(size = 256) {
    this.#tables = tables(size);
  }

  /** Makes room for the slots below `size`. */
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

  /** Each of the first `length` slots once; there is room for all of them. */
  add(slots: Uint32Array, length: number): void {
    const [a, b, c, d] = this.#tables;
    const even = length & ~3;
    let i = 0;
    for (; i < even; i += 4) {
      a[slots[i]!]!++;
      b[slots[i + 1]!]!++;
      c[slots[i + 2]!]!++;
      d[slots[i + 3]!]!++;
    }
    for (; i < length; i++) a[slots[i]!]!++;
  }

  /** The same of those whose byte in `kept`, which starts at `from`, is 1. */
  addKept(slots: Uint32Array, length: number, kept: Uint8Array, from: number): void {
    const [a, b, c, d] = this.#tables;
    const even = length & ~3;
    let i = 0;
    for (; i < even; i += 4) {
      const at = from + i;
      a[slots[i]!]! += kept[at]!;
      b[slots[i + 1]!]! += kept[at + 1]!;
      c[slots[i + 2]!]! += kept[at + 2]!;
      d[slots[i + 3]!]! += kept[at + 3]!;
    }
    for (; i < length; i++) a[slots[i]!]! += kept[from + i]!;
  }

  /** A table to which counts may be added; its room is that of the last `ensure`. */
  get table(): Uint32Array {
    return this.#tables[0];
  }

  /** The counts of the slots below `size`. */
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
  if (size > laneLimit) return [one, one, one, one];
  return [one, new Uint32Array(size), new Uint32Array(size), new Uint32Array(size)];
}

/** Counts the slots of the values of each record of the mask, every one once for a record; `counts` has room for all slots. */
export function countDifferent(
  { rows, offsets }: Column,
  mask: Mask,
  slots: Uint32Array,
  counts: Uint32Array,
): void {
  const lastRow = new Int32Array(counts.length).fill(-1);
  const isAll = mask === 'all';
  const marks = typeof mask === 'string' ? new Uint8Array(0) : mask;
  let end = 0;
  for (let row = 0; row < rows; row++) {
    let i = end;
    end = offsets![row + 1]!;
    if (!isAll && marks[row] !== 1) continue;
    for (; i < end; i++) {
      const slot = slots[i]!;
      if (lastRow[slot] === row) continue;
      lastRow[slot] = row;
      counts[slot]! += 1;
    }
  }
}
