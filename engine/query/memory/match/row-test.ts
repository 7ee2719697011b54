import { sliceColumn } from './column-rows.js';
import type {
  ColumnValues,
  DistinctStrings,
  MemoryColumn,
  SegmentView,
  StringHashes,
} from './column.js';
import type { FieldRef } from '../../predicate/predicate.js';
import { intersectInto, invert, selectedSpan } from './selection-bytes.js';
import {
  intersection,
  isSparse,
  type SelectionVector,
  type TestResult,
} from './selection-vector.js';
import { isUnsupported, type Unsupported } from '../../unsupported.js';

/**
 * A predicate, prepared for one query. Returns the rows of a segment that satisfy it, and yields where it may be interrupted. The result
 * need only be correct for the rows in `within`, which the test must not modify.
 */
export type RowTest = (view: SegmentView, within: SelectionVector) => Generator<void, TestResult>;

/** Returns a row test of one condition, which is not interrupted. */
export function rowTest(test: (view: SegmentView, within: SelectionVector) => TestResult): RowTest {
  // oxlint-disable-next-line require-yield -- a single condition takes at most a tenth of a second
  return function* (view, within) {
    return test(view, within);
  };
}

/** Returns a test whose selections of all rows are cached under `key`; without a cache, behaves as `test`. */
export function cachedTest(key: string, test: RowTest): RowTest {
  return function* (view, within) {
    const { selections } = view;
    if (selections === undefined) return yield* test(view, within);
    const cachedSelection = selections.get(key);
    if (cachedSelection !== undefined) return cachedSelection;
    const selection = yield* test(view, 'all');
    if (!isUnsupported(selection)) selections.set(key, selection);
    return selection;
  };
}

/** A condition on single values, prepared for one query. */
export interface ValueTest {
  /** True if strings are found by their hashes, which takes the same time for any number of rows in `within`. */
  readonly probesHashes?: true;
  /** True if the test is so slow that it pays to exclude unwanted rows one by one. */
  readonly skipsUnwanted?: true;
  /** Returns whether any of these strings satisfies the condition; absent unless the condition is on strings. */
  readonly isAmong?: (strings: DistinctStrings) => boolean | Unsupported;
  /** Returns the values with indices from 0 to `count` (exclusive) that satisfy the condition; correct only for values in `within`. */
  find(
    values: ColumnValues,
    count: number,
    within: SelectionVector,
    hashes: () => StringHashes | undefined,
  ): TestResult;
}

/** Returns a test that selects the records in which any value of the field passes `test`. */
export function fieldTest(field: FieldRef, test: ValueTest): RowTest {
  return rowTest((view, within) => {
    if (within === 'none') return 'none';
    const distinct = test.isAmong && view.distinct?.(field);
    const isAmong = distinct && test.isAmong!(distinct);
    if (isAmong !== undefined && isAmong !== true) return isAmong === false ? 'none' : isAmong;
    const column = view.column(field);
    if (column === undefined) return 'none';
    const wantedRange = wantedRowRange(column, within, test);
    if (wantedRange !== undefined)
      return shiftSelection(
        rowsOfTest(wantedRange.column, test, wantedRange.within),
        wantedRange,
        column,
      );
    return rowsOfTest(column, test, within, () => view.hashes?.(field));
  });
}

function rowsOfTest(
  column: MemoryColumn,
  test: ValueTest,
  within: SelectionVector,
  hashes: () => StringHashes | undefined = () => undefined,
): TestResult {
  const { offsets, rows, values } = column;
  if (offsets === undefined) return selectPresent(column, test.find(values, rows, within, hashes));
  const count = offsets[rows]!;
  const wantedValues = valuesOfRows(within, offsets, count, test);
  return rowsOfValues(test.find(values, count, wantedValues, hashes), offsets, rows);
}

/** A range of consecutive rows of a column. */
interface RowRange {
  readonly column: MemoryColumn;
  readonly within: SelectionVector;
  readonly from: number;
}

/**
 * Returns a part of the column that contains all wanted rows if `within` is a selection by bytes and the part is at most half of the
 * column; undefined otherwise, and for lists and hash lookups.
 */
function wantedRowRange(
  column: MemoryColumn,
  within: SelectionVector,
  test: ValueTest,
): RowRange | undefined {
  if (typeof within === 'string' || isSparse(within) || column.offsets !== undefined)
    return undefined;
  if (test.probesHashes && column.values.kind === 'strings') return undefined;
  const { from, to } = selectedSpan(within);
  if ((to - from) * 2 > column.rows) return undefined;
  return { column: sliceColumn(column, from, to), within: within.subarray(from, to), from };
}

function shiftSelection(
  selection: TestResult,
  { column, from }: RowRange,
  whole: MemoryColumn,
): TestResult {
  if (selection === 'none' || isUnsupported(selection)) return selection;
  if (selection !== 'all' && isSparse(selection)) return selection.map((row) => row + from);
  const selected = new Uint8Array(whole.rows);
  if (selection === 'all') selected.fill(1, from, from + column.rows);
  else selected.set(selection, from);
  return selected;
}

/** Returns a test that selects the records without a value of the field. A list that contains only nulls counts as missing. */
export function missingTest(field: FieldRef): RowTest {
  return rowTest((view) => {
    const column = view.column(field);
    if (column === undefined) return 'all';
    const { offsets, present, rows } = column;
    if (offsets !== undefined) return emptyRows(offsets, rows);
    if (present === undefined) return 'none';
    const bytes = present.slice(0, rows);
    invert(bytes);
    return bytes;
  });
}

/** Returns a test that selects the records with at least `from` and at most `to` values of the field, nulls not counted. */
export function lengthTest(field: FieldRef, from: number, to: number): RowTest {
  const [isEmptyIn, isOneIn] = [from <= 0 && to >= 0, from <= 1 && to >= 1];
  return rowTest((view) => {
    const column = view.column(field);
    if (column === undefined) return isEmptyIn ? 'all' : 'none';
    const { offsets, present, rows } = column;
    if (offsets !== undefined) return selectLengthsInRange(offsets, rows, from, to);
    if (isEmptyIn === isOneIn) return isOneIn ? 'all' : 'none';
    if (present === undefined) return isOneIn ? 'all' : 'none';
    const selected = present.slice(0, rows);
    if (isEmptyIn) invert(selected);
    return selected;
  });
}

/** Returns a test that selects the rows with an element of a list of objects that passes `test`, which treats the elements as rows. */
export function elementTest(list: FieldRef, test: RowTest): RowTest {
  return function* (view, within) {
    const elements = within === 'none' ? undefined : view.elements?.(list);
    if (elements === undefined || elements.view.rows === 0) return 'none';
    const { offsets } = elements;
    const wantedElements = valuesOfRows(within, offsets, elements.view.rows, {});
    return rowsOfValues(yield* test(elements.view, wantedElements), offsets, view.rows);
  };
}

function selectPresent({ present, rows }: MemoryColumn, selection: TestResult): TestResult {
  if (present === undefined || selection === 'none' || isUnsupported(selection)) return selection;
  if (selection === 'all') return present.slice(0, rows);
  if (isSparse(selection)) return intersection(selection, present);
  intersectInto(selection, present);
  return selection;
}

/** Returns the values of the wanted rows; all values if the test gains nothing from excluding the unwanted ones. */
function valuesOfRows(
  within: SelectionVector,
  offsets: Int32Array,
  count: number,
  { skipsUnwanted }: Pick<ValueTest, 'skipsUnwanted'>,
): SelectionVector {
  if (typeof within === 'string') return within;
  if (isSparse(within)) {
    const values: number[] = [];
    for (const row of within)
      for (let i = offsets[row]!; i < offsets[row + 1]!; i++) values.push(i);
    return Int32Array.from(values);
  }
  if (!skipsUnwanted) return 'all';
  const selected = new Uint8Array(count);
  for (let row = 0; row < within.length; row++)
    if (within[row] === 1) selected.fill(1, offsets[row], offsets[row + 1]);
  return selected;
}

/** Returns the rows to which the found values belong. */
function rowsOfValues(foundValues: TestResult, offsets: Int32Array, rows: number): TestResult {
  if (foundValues === 'none' || isUnsupported(foundValues)) return foundValues;
  if (foundValues !== 'all' && isSparse(foundValues))
    return rowsOfListedValues(foundValues, offsets, rows);
  const selected = new Uint8Array(rows);
  let i = 0;
  for (let row = 0; row < rows; row++) {
    const end = offsets[row + 1]!;
    if (foundValues === 'all') {
      selected[row] = end > i ? 1 : 0;
    } else {
      let bit = 0;
      for (; i < end; i++) bit |= foundValues[i]!;
      selected[row] = bit;
    }
    i = end;
  }
  return selected;
}

function rowsOfListedValues(
  foundValues: Int32Array,
  offsets: Int32Array,
  rows: number,
): Int32Array {
  const result = new Int32Array(foundValues.length);
  let count = 0;
  let row = -1;
  for (const value of foundValues) {
    if (row >= 0 && value < offsets[row + 1]!) continue; // value of a row that is already selected
    row = rowOfValue(value, offsets, row + 1, rows);
    result[count++] = row;
  }
  return result.subarray(0, count);
}

/** Returns the row to which a value belongs; the search begins at row `from`, with an exponential and then a binary search. */
export function rowOfValue(
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

function selectLengthsInRange(
  offsets: Int32Array,
  rows: number,
  from: number,
  to: number,
): Uint8Array {
  const selected = new Uint8Array(rows);
  for (let row = 0; row < rows; row++) {
    const length = offsets[row + 1]! - offsets[row]!;
    selected[row] = Number(length >= from) & Number(length <= to);
  }
  return selected;
}

function emptyRows(offsets: Int32Array, rows: number): Uint8Array {
  const selected = new Uint8Array(rows);
  for (let row = 0; row < rows; row++) selected[row] = offsets[row + 1] === offsets[row] ? 1 : 0;
  return selected;
}
