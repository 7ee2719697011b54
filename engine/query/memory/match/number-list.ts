import type { Numbers } from './column.js';
import { isSparse, type SelectionVector } from './selection-vector.js';

/** The widest range of numbers for which a table is used instead of a set. */
const maxTableRange = 4_000_000;

/** Returns a function that selects the values that are in a list of numbers; 0 and -0 are equal. */
export function listedNumberSelector(
  wantedNumbers: readonly number[],
): (values: Numbers['numbers'], count: number, within: SelectionVector) => SelectionVector {
  const wantedSet = new Set(wantedNumbers);
  const wholeNumbers = wantedNumbers.filter(
    (value) => Number.isInteger(value) && Math.abs(value) <= 2 ** 31,
  );
  const from = wholeNumbers.reduce((a, b) => Math.min(a, b), Infinity);
  const to = wholeNumbers.reduce((a, b) => Math.max(a, b), -Infinity);
  let table: Uint8Array | undefined;
  if (wholeNumbers.length > 0 && to - from < maxTableRange) {
    table = new Uint8Array(to - from + 1);
    for (const value of wholeNumbers) table[value - from] = 1;
  }
  return (values, count, within) => {
    if (wantedNumbers.length === 0) return 'none';
    if (typeof within === 'object' && isSparse(within))
      return within.filter((i) => wantedSet.has(values[i]!));
    const selected = new Uint8Array(count);
    if (values instanceof Int32Array) {
      if (wholeNumbers.length === 0) return 'none';
      if (table !== undefined) selectIntegersInTable(values, selected, table, from);
      else selectIntegersInSet(values, selected, wantedSet);
    } else if (values instanceof Uint8Array) {
      const isWanted = Uint8Array.from({ length: 256 }, (_, value) => Number(wantedSet.has(value)));
      for (let i = 0; i < count; i++) selected[i] = isWanted[values[i]!]!;
    } else if (values instanceof Float64Array) {
      selectDoublesInSet(values, selected, wantedSet);
    } else {
      selectFloatsInSet(values, selected, wantedSet);
    }
    return selected;
  };
}

function selectIntegersInTable(
  values: Int32Array,
  selected: Uint8Array,
  table: Uint8Array,
  from: number,
): void {
  const size = table.length;
  for (let i = 0; i < selected.length; i++) {
    const offset = values[i]! - from;
    selected[i] = offset >= 0 && offset < size ? table[offset]! : 0;
  }
}

function selectIntegersInSet(
  values: Int32Array,
  selected: Uint8Array,
  wantedSet: ReadonlySet<number>,
): void {
  for (let i = 0; i < selected.length; i++) selected[i] = wantedSet.has(values[i]!) ? 1 : 0;
}

function selectDoublesInSet(
  values: Float64Array,
  selected: Uint8Array,
  wantedSet: ReadonlySet<number>,
): void {
  for (let i = 0; i < selected.length; i++) selected[i] = wantedSet.has(values[i]!) ? 1 : 0;
}

function selectFloatsInSet(
  values: Float32Array,
  selected: Uint8Array,
  wantedSet: ReadonlySet<number>,
): void {
  for (let i = 0; i < selected.length; i++) selected[i] = wantedSet.has(values[i]!) ? 1 : 0;
}
