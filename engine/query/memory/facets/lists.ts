import type { Column, Mask } from '../column.js';

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
