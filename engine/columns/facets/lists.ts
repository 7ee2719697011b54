import type { Column, Mask } from '../column.js';

/** Hands over the slots of the values of each record of the mask, every one once for a record; `size` is above all slots. */
export function eachDifferent(
  { rows, offsets }: Column,
  mask: Mask,
  slots: Uint32Array,
  size: number,
  take: (slot: number) => void,
): void {
  const lastRow = new Int32Array(size).fill(-1);
  for (let row = 0; row < rows; row++) {
    if (mask !== 'all' && (mask === 'none' || mask[row] === 0)) continue;
    const end = offsets![row + 1]!;
    for (let i = offsets![row]!; i < end; i++) {
      const slot = slots[i]!;
      if (lastRow[slot] === row) continue;
      lastRow[slot] = row;
      take(slot);
    }
  }
}
