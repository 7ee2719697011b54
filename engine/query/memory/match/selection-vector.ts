import { common, mergeAscending, without } from '../../../core/ascending.js';
import type { Unsupported } from '../../unsupported.js';
import type { SelectionBytes } from '../column.js';
import { andInto, countOnes, invert, orInto, spanOf, wordsOf } from '../selection-bytes.js';

/**
 * The selected rows of a segment (or values of a column): one byte per row, or, where few are selected, their numbers, ascending
 * and without duplicates. A selection vector that a function returns belongs to its caller, who may write into it.
 */
export type SelectionVector = SelectionBytes | Int32Array;

/** The result of a test. */
export type TestResult = SelectionVector | Unsupported;

/** True for a selection vector that holds the numbers of rows. */
export function isSparse(selection: SelectionVector): selection is Int32Array {
  return typeof selection === 'object' && selection.BYTES_PER_ELEMENT === 4;
}

/** If fewer than one row in this many is selected, the rest of a conjunction is evaluated row by row. */
const sparseShare = 32;

/** The selection in the form that is faster to continue with; `rows` is the size of the segment if the selection covers a part of it. */
export function settleSelection(selection: SelectionVector, rows?: number): SelectionVector {
  if (typeof selection === 'string') return selection;
  if (isSparse(selection)) return selection.length === 0 ? 'none' : selection;
  const count = countOnes(selection);
  if (count === 0) return 'none';
  const isFew = count < (rows ?? selection.length) / sparseShare;
  return isFew ? numbersIn(selection, count) : selection;
}

function numbersIn(mask: Uint8Array, count: number): Int32Array {
  const numbers = new Int32Array(count);
  const { from, to } = spanOf(mask);
  const words = wordsOf(mask.subarray(from, to));
  let at = 0;
  let row = from;
  for (let word = 0; word < words.length; word++, row += 4) {
    if (words[word] === 0) continue;
    for (let i = row; i < row + 4; i++) if (mask[i] === 1) numbers[at++] = i;
  }
  for (; row < to; row++) if (mask[row] === 1) numbers[at++] = row;
  return numbers;
}

/** The numbers of the selected rows, ascending, for a segment of `rows` rows. */
export function rowNumbers(selection: SelectionVector, rows: number): Int32Array {
  if (selection === 'none') return new Int32Array(0);
  if (selection === 'all') return Int32Array.from({ length: rows }, (_, row) => row);
  return isSparse(selection) ? selection : numbersIn(selection, countOnes(selection));
}

/** The selection as one byte per row, for a segment of `rows` rows. */
export function selectionBytesOf(selection: SelectionVector, rows: number): SelectionBytes {
  if (!isSparse(selection)) return selection;
  return selection.length === 0 ? 'none' : bytesOf(selection, rows);
}

function bytesOf(selection: SelectionVector, rows: number): Uint8Array {
  if (typeof selection === 'object' && !isSparse(selection)) return selection;
  const mask = new Uint8Array(rows);
  if (selection === 'all') mask.fill(1);
  else if (selection !== 'none') for (let i = 0; i < selection.length; i++) mask[selection[i]!] = 1;
  return mask;
}

/** The number of selected rows. */
export function countOf(selection: SelectionVector, rows: number): number {
  if (typeof selection === 'string') return selection === 'all' ? rows : 0;
  return isSparse(selection) ? selection.length : countOnes(selection);
}

/** The rows that both select. May overwrite `a` or `b`: use only the result. */
export function intersection(a: SelectionVector, b: SelectionVector): SelectionVector {
  if (a === 'none' || b === 'none') return 'none';
  if (a === 'all') return b;
  if (b === 'all') return a;
  if (isSparse(a)) return isSparse(b) ? common(a, b) : rowsWhere(a, b, 1);
  if (isSparse(b)) return rowsWhere(b, a, 1);
  andInto(a, b);
  return a;
}

/** The rows that one or both select. May overwrite `a` or `b`: use only the result. */
export function union(a: SelectionVector, b: SelectionVector): SelectionVector {
  if (a === 'all' || b === 'all') return 'all';
  if (a === 'none') return b;
  if (b === 'none') return a;
  if (isSparse(a)) return isSparse(b) ? mergeAscending(a, b) : union(b, a);
  if (isSparse(b)) for (let i = 0; i < b.length; i++) a[b[i]!] = 1;
  else orInto(a, b);
  return a;
}

/** Complement, correct for the rows of `within` only. May write into `selection`. */
export function complement(
  selection: SelectionVector,
  rows: number,
  within: SelectionVector,
): SelectionVector {
  if (selection === 'all') return 'none';
  if (selection === 'none') return 'all';
  if (isSparse(within)) {
    return isSparse(selection) ? without(within, selection) : rowsWhere(within, selection, 0);
  }
  const mask = bytesOf(selection, rows);
  invert(mask);
  return mask;
}

/**
 * The selected rows that are not among `others`, given by their ascending numbers, which later calls with the same list have again. May write
 * into `selection`.
 */
export function withoutRows(
  selection: SelectionVector,
  others: Int32Array,
  rows: number,
): SelectionVector {
  if (selection === 'none') return 'none';
  if (isSparse(selection)) return without(selection, others);
  if (others.length * sparseShare > rows) {
    const rest = restOf(others, rows);
    if (selection === 'all') return rest.slice();
    andInto(selection, rest);
    return selection;
  }
  return clearRows(bytesOf(selection, rows), others);
}

/**
 * Byte masks (one byte per row, 0 or 1) by the list of rows that they clear. They are kept, because an `and` of two masks, which takes eight rows at
 * once, is faster than clearing many single bytes.
 */
const rests = new WeakMap<Int32Array, Uint8Array>();

function restOf(others: Int32Array, rows: number): Uint8Array {
  let rest = rests.get(others);
  if (rest === undefined) rests.set(others, (rest = clearRows(bytesOf('all', rows), others)));
  return rest;
}

function clearRows(mask: Uint8Array, others: Int32Array): Uint8Array {
  for (let i = 0; i < others.length; i++) mask[others[i]!] = 0;
  return mask;
}

/** The numbers of the rows whose byte is `bit`. */
function rowsWhere(numbers: Int32Array, mask: Uint8Array, bit: number): Int32Array {
  return numbers.filter((row) => mask[row] === bit);
}

/** Sorts the numbers and removes duplicates. */
export function ascendingRows(numbers: readonly number[] | Int32Array): Int32Array {
  const sorted = Int32Array.from(numbers).sort();
  let count = 0;
  for (let i = 0; i < sorted.length; i++)
    if (i === 0 || sorted[i] !== sorted[i - 1]) sorted[count++] = sorted[i]!;
  return sorted.subarray(0, count);
}
