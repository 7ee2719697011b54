import type { Numbers } from '../column.js';
import { isSparse, type Selection } from './selection.js';

/** Wider apart, numbers are looked up in a set. */
const widestTable = 4_000_000;

/** Finds the numbers of a list; 0 and -0 are the same. */
export function listed(
  wanted: readonly number[],
): (values: Numbers['numbers'], count: number, within: Selection) => Selection {
  const all = new Set(wanted);
  const whole = wanted.filter((value) => Number.isInteger(value) && Math.abs(value) <= 2 ** 31);
  const from = whole.reduce((a, b) => Math.min(a, b), Infinity);
  const to = whole.reduce((a, b) => Math.max(a, b), -Infinity);
  let table: Uint8Array | undefined;
  if (whole.length > 0 && to - from < widestTable) {
    table = new Uint8Array(to - from + 1);
    for (const value of whole) table[value - from] = 1;
  }
  return (values, count, within) => {
    if (wanted.length === 0) return 'none';
    if (typeof within === 'object' && isSparse(within))
      return within.filter((i) => all.has(values[i]!));
    const mask = new Uint8Array(count);
    if (values instanceof Int32Array) {
      if (whole.length === 0) return 'none';
      if (table !== undefined) integersInTable(values, mask, table, from);
      else integersInSet(values, mask, all);
    } else if (values instanceof Float64Array) {
      numbersInSet(values, mask, all);
    } else {
      singlesInSet(values, mask, all);
    }
    return mask;
  };
}

function integersInTable(
  values: Int32Array,
  mask: Uint8Array,
  table: Uint8Array,
  from: number,
): void {
  const size = table.length;
  for (let i = 0; i < mask.length; i++) {
    const place = values[i]! - from;
    mask[i] = place >= 0 && place < size ? table[place]! : 0;
  }
}

function integersInSet(values: Int32Array, mask: Uint8Array, all: ReadonlySet<number>): void {
  for (let i = 0; i < mask.length; i++) mask[i] = all.has(values[i]!) ? 1 : 0;
}

function numbersInSet(values: Float64Array, mask: Uint8Array, all: ReadonlySet<number>): void {
  for (let i = 0; i < mask.length; i++) mask[i] = all.has(values[i]!) ? 1 : 0;
}

function singlesInSet(values: Float32Array, mask: Uint8Array, all: ReadonlySet<number>): void {
  for (let i = 0; i < mask.length; i++) mask[i] = all.has(values[i]!) ? 1 : 0;
}
