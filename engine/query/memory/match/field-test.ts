import type { Column, ColumnValues, SegmentView, TextHashes } from '../column.js';
import type { FieldRef } from '../../predicate/predicate.js';
import { andInto, invert, spanOf } from '../mask.js';
import { both, isSparse, type Selection } from './selection.js';

/** A condition, prepared for one query. */
export interface Test {
  /** What it takes beside others: of an `and` the cheaper ones come first. */
  readonly cost: number;
  /** The rows that satisfy it. Only for those of `within` has it to be right. */
  select(view: SegmentView, within: Selection): Selection;
}

/** A condition on single values, prepared for one query. */
export interface ValueTest {
  readonly cost: number;
  /** Which of the values 0 to `count` satisfy it. Only for those of `within` has it to be right. */
  find(
    values: ColumnValues,
    count: number,
    within: Selection,
    hashes: () => TextHashes | undefined,
  ): Selection;
}

/** What tests take: by and large milliseconds for five million values. */
export const costs = {
  presence: 0,
  probe: 1,
  numbers: 5,
  bytes: 15,
  scan: 40,
  pattern: 1_000,
} as const;

/** Holds for the records of which any value of the field passes the test. */
export function fieldTest(field: FieldRef, test: ValueTest): Test {
  return {
    cost: test.cost,
    select(view, within) {
      const column = view.column(field);
      if (column === undefined || within === 'none') return 'none';
      const part = partOf(column, within, test.cost);
      if (part !== undefined) return shifted(found(part.column, test, part.within), part, column);
      return found(column, test, within, () => view.hashes?.(field));
    },
  };
}

function found(
  column: Column,
  test: ValueTest,
  within: Selection,
  hashes: () => TextHashes | undefined = () => undefined,
): Selection {
  const { offsets, rows, values } = column;
  if (offsets === undefined) return withValue(column, test.find(values, rows, within, hashes));
  const count = offsets[rows]!;
  const wanted = valuesWithin(within, offsets, count, test.cost);
  return rowsOf(test.find(values, count, wanted, hashes), offsets, rows);
}

/** Some rows of a column, from one on. */
interface Part {
  readonly column: Column;
  readonly within: Selection;
  readonly from: number;
}

/** The part of the column where rows are wanted, if it is much smaller: not of lists, nor where there is a quicker way to values. */
function partOf(column: Column, within: Selection, cost: number): Part | undefined {
  if (typeof within === 'string' || isSparse(within) || column.offsets !== undefined)
    return undefined;
  if (cost <= costs.probe && column.values.kind === 'texts') return undefined;
  const { from, to } = spanOf(within);
  if ((to - from) * 2 > column.rows) return undefined;
  const present = column.present?.subarray(from, to);
  const values = valuesFrom(column.values, from, to);
  return { column: { ...column, rows: to - from, present, values }, within: within.subarray(from, to), from }; // prettier-ignore
}

function valuesFrom(values: ColumnValues, from: number, to: number): ColumnValues {
  switch (values.kind) {
    case 'numbers':
      return { ...values, numbers: values.numbers.subarray(from, to) };
    case 'longs':
      return { ...values, longs: values.longs.subarray(from, to) };
    case 'flags':
      return { ...values, flags: values.flags.subarray(from, to) };
    case 'codes':
      return { ...values, codes: values.codes.subarray(from, to) };
    case 'texts':
      return { ...values, offsets: values.offsets.subarray(from, to + 1) };
  }
}

function shifted(selection: Selection, { column, from }: Part, whole: Column): Selection {
  if (selection === 'none') return 'none';
  if (selection !== 'all' && isSparse(selection)) return selection.map((row) => row + from);
  const mask = new Uint8Array(whole.rows);
  if (selection === 'all') mask.fill(1, from, from + column.rows);
  else mask.set(selection, from);
  return mask;
}

/** Holds for the records without a value of the field: a list of nothing but nulls is missing too. */
export function missingTest(field: FieldRef): Test {
  return {
    cost: costs.presence,
    select(view) {
      const column = view.column(field);
      if (column === undefined) return 'all';
      const { offsets, present, rows } = column;
      if (offsets !== undefined) return emptyRows(offsets, rows);
      if (present === undefined) return 'none';
      const mask = present.slice(0, rows);
      invert(mask);
      return mask;
    },
  };
}

function withValue({ present, rows }: Column, found: Selection): Selection {
  if (present === undefined || found === 'none') return found;
  if (found === 'all') return present.slice(0, rows);
  if (isSparse(found)) return both(found, present);
  andInto(found, present);
  return found;
}

/** Where values are looked at one by one, only those of the rows that are wanted. */
function valuesWithin(
  within: Selection,
  offsets: Int32Array,
  count: number,
  cost: number,
): Selection {
  if (typeof within === 'string') return within;
  if (isSparse(within)) {
    const values: number[] = [];
    for (const row of within)
      for (let i = offsets[row]!; i < offsets[row + 1]!; i++) values.push(i);
    return Int32Array.from(values);
  }
  if (cost < costs.pattern) return 'all';
  const mask = new Uint8Array(count);
  for (let row = 0; row < within.length; row++)
    if (within[row] === 1) mask.fill(1, offsets[row], offsets[row + 1]);
  return mask;
}

/** The rows of these values. */
function rowsOf(found: Selection, offsets: Int32Array, rows: number): Selection {
  if (found === 'none') return 'none';
  if (found !== 'all' && isSparse(found)) return rowsOfSome(found, offsets, rows);
  const mask = new Uint8Array(rows);
  let i = 0;
  for (let row = 0; row < rows; row++) {
    const end = offsets[row + 1]!;
    if (found === 'all') {
      mask[row] = end > i ? 1 : 0;
    } else {
      let bit = 0;
      for (; i < end; i++) bit |= found[i]!;
      mask[row] = bit;
    }
    i = end;
  }
  return mask;
}

function rowsOfSome(found: Int32Array, offsets: Int32Array, rows: number): Int32Array {
  const result = new Int32Array(found.length);
  let count = 0;
  let row = -1;
  for (const value of found) {
    if (row >= 0 && value < offsets[row + 1]!) continue; // of the same row again
    row = rowOf(value, offsets, row + 1, rows);
    result[count++] = row;
  }
  return result.subarray(0, count);
}

/** The row of a value, at or behind row `from`: in growing steps, then by halves. */
export function rowOf(
  value: number,
  offsets: Int32Array | Uint32Array,
  from: number,
  rows: number,
): number {
  let low = from;
  let step = 1;
  while (low + step < rows && offsets[low + step]! <= value) {
    low += step;
    step *= 2;
  }
  let high = Math.min(low + step, rows);
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (offsets[middle]! <= value) low = middle;
    else high = middle;
  }
  return low;
}

function emptyRows(offsets: Int32Array, rows: number): Uint8Array {
  const mask = new Uint8Array(rows);
  for (let row = 0; row < rows; row++) mask[row] = offsets[row + 1] === offsets[row] ? 1 : 0;
  return mask;
}
