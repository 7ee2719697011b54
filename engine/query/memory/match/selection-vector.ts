import { intersectSorted, unionSorted, subtractSorted } from '../../../core/sorted-sets.js';
import { packBitmap, unpackBitmap } from '../../../text/row-bitmap.js';
import type { Unsupported } from '../../unsupported.js';
import type { SelectionBytes } from './column.js';
import {
  acquireBytes,
  intersectInto,
  countOnes,
  invert,
  uniteInto,
  selectedSpan,
  wordsOf,
} from './selection-bytes.js';

/**
 * The selected rows of a segment (or values of a column): one byte per row or, if few are selected, their numbers, ascending and without
 * duplicates. A selection vector that a function returns belongs to its caller, who may write into it, unless the comment of the function
 * excludes that.
 */
export type SelectionVector = SelectionBytes | Int32Array;

/** The result of a test: a selection, or the reason why the test cannot be carried out. */
export type TestResult = SelectionVector | Unsupported;

/** Returns true for a selection vector that consists of row numbers. */
export function isSparse(selection: SelectionVector): selection is Int32Array {
  return typeof selection === 'object' && selection.BYTES_PER_ELEMENT === 4;
}

/** Rows are few, and a list of their numbers is better than bytes, if they are about one in this many rows or fewer. */
export const sparseDivisor = 32;

/**
 * Returns the selection in the form in which later steps are faster; `rows` is the size of the segment if the selection covers only a part
 * of it.
 */
export function chooseSelectionForm(selection: SelectionVector, rows?: number): SelectionVector {
  if (typeof selection === 'string') return selection;
  if (isSparse(selection)) return selection.length === 0 ? 'none' : selection;
  const sparseLimit = (rows ?? selection.length) / sparseDivisor;
  const count = countOnes(selection, sparseLimit);
  if (count === 0) return 'none';
  return count < sparseLimit ? selectedNumbers(selection, count) : selection;
}

function selectedNumbers(selected: Uint8Array, count: number): Int32Array {
  const numbers = new Int32Array(count);
  const { from, to } = selectedSpan(selected);
  const words = wordsOf(selected.subarray(from, to));
  let at = 0;
  let row = from;
  for (let word = 0; word < words.length; word++, row += 4) {
    if (words[word] === 0) continue;
    for (let i = row; i < row + 4; i++) if (selected[i] === 1) numbers[at++] = i;
  }
  for (; row < to; row++) if (selected[row] === 1) numbers[at++] = row;
  return numbers;
}

/** A selection for the cache: all rows, row numbers, or a bitmap with one bit per row. */
export type PackedSelection = 'all' | Int32Array | Uint8Array;

/** Returns a copy of a selection in its smallest form. */
export function packSelection(selection: SelectionVector): PackedSelection {
  const rows = chooseSelectionForm(selection);
  if (rows === 'all' || rows === 'none') return rows === 'all' ? rows : new Int32Array(0);
  return isSparse(rows) ? rows.slice() : packBitmap(rows);
}

/** Returns a packed selection as a selection vector of its own, for a segment of `rows` rows. */
export function unpackSelection(packed: PackedSelection, rows: number): SelectionVector {
  if (packed === 'all') return packed;
  return isSparse(packed) ? packed.slice() : unpackBitmap(packed, rows);
}

/** Returns the numbers of the selected rows, ascending, for a segment of `rows` rows. */
export function rowNumbers(selection: SelectionVector, rows: number): Int32Array {
  if (selection === 'none') return new Int32Array(0);
  if (selection === 'all') return Int32Array.from({ length: rows }, (_, row) => row);
  return isSparse(selection) ? selection : selectedNumbers(selection, countOnes(selection));
}

/** Returns the selection as one byte per row, for a segment of `rows` rows. */
export function selectionBytesOf(selection: SelectionVector, rows: number): SelectionBytes {
  if (!isSparse(selection)) return selection;
  return selection.length === 0 ? 'none' : writableBytes(selection, rows);
}

function writableBytes(selection: SelectionVector, rows: number): Uint8Array {
  if (typeof selection === 'object' && !isSparse(selection)) return selection;
  const bytes = acquireBytes(rows).fill(selection === 'all' ? 1 : 0);
  if (typeof selection === 'object') for (const row of selection) bytes[row] = 1;
  return bytes;
}

/** Returns the number of selected rows. */
export function countOf(selection: SelectionVector, rows: number): number {
  if (typeof selection === 'string') return selection === 'all' ? rows : 0;
  if (isSparse(selection)) return selection.length;
  return countByComplement.get(selection) ?? countOnes(selection);
}

/** Returns the rows that both `a` and `b` select. May write into `a`, and may return either of them: use only the result. */
export function intersection(a: SelectionVector, b: SelectionVector): SelectionVector {
  if (a === 'none' || b === 'none') return 'none';
  if (a === 'all') return b;
  if (b === 'all') return a;
  if (isSparse(a)) return isSparse(b) ? intersectSorted(a, b) : rowsWithByte(a, b, 1);
  if (isSparse(b)) return rowsWithByte(b, a, 1);
  intersectInto(a, b);
  return a;
}

/** Returns the rows that `a` or `b` selects. May overwrite both: use only the result. */
export function union(a: SelectionVector, b: SelectionVector): SelectionVector {
  if (a === 'all' || b === 'all') return 'all';
  if (a === 'none') return b;
  if (b === 'none') return a;
  if (isSparse(a)) return isSparse(b) ? unionSorted(a, b) : union(b, a);
  if (isSparse(b)) for (let i = 0; i < b.length; i++) a[b[i]!] = 1;
  else uniteInto(a, b);
  return a;
}

/** Returns the rows that `selection` does not select; correct only for the rows in `within`. May write into `selection`. */
export function complement(
  selection: SelectionVector,
  rows: number,
  within: SelectionVector,
): SelectionVector {
  if (selection === 'all') return 'none';
  if (selection === 'none') return 'all';
  if (isSparse(within)) {
    return isSparse(selection)
      ? subtractSorted(within, selection)
      : rowsWithByte(within, selection, 0);
  }
  const bytes = writableBytes(selection, rows);
  invert(bytes);
  return bytes;
}

/**
 * Returns the selected rows without those in `others`, which are ascending row numbers. Unless `others` are few, their complement is
 * cached by the `others` object, so later calls should pass the same object. May write into `selection`. The result may be a cached
 * complement, into which the caller must not write.
 */
export function withoutRows(
  selection: SelectionVector,
  others: Int32Array,
  rows: number,
): SelectionVector {
  if (selection === 'none') return 'none';
  if (isSparse(selection)) return subtractSorted(selection, others);
  if (others.length * sparseDivisor <= rows)
    return clearRows(writableBytes(selection, rows), others);
  const complementFlags = complementBytes(others, rows);
  if (selection === 'all') return complementFlags;
  intersectInto(selection, complementFlags);
  return selection;
}

/**
 * For a list of rows, one byte per row: 0 for the rows of the list, 1 for all other rows. These bytes are cached because an `and` of
 * the bytes of two selections, which takes four rows at once, is faster than clearing many single bytes.
 */
const complementByRows = new WeakMap<Int32Array, Uint8Array>();

function complementBytes(others: Int32Array, rows: number): Uint8Array {
  let complementFlags = complementByRows.get(others);
  if (complementFlags === undefined) {
    complementByRows.set(
      others,
      (complementFlags = clearRows(new Uint8Array(rows).fill(1), others)),
    );
    countByComplement.set(complementFlags, rows - others.length);
  }
  return complementFlags;
}

/** The number of selected rows of each complement in `complementByRows`. */
const countByComplement = new WeakMap<Uint8Array, number>();

function clearRows(bytes: Uint8Array, others: Int32Array): Uint8Array {
  for (let i = 0; i < others.length; i++) bytes[others[i]!] = 0;
  return bytes;
}

/** Returns those of `numbers` whose byte in `bytes` is `bit`. */
function rowsWithByte(numbers: Int32Array, bytes: Uint8Array, bit: number): Int32Array {
  return numbers.filter((row) => bytes[row] === bit);
}

/** Sorts row numbers and removes duplicates. */
export function ascendingRows(numbers: readonly number[] | Int32Array): Int32Array {
  const sortedNumbers = Int32Array.from(numbers).sort();
  let count = 0;
  for (let i = 0; i < sortedNumbers.length; i++)
    if (i === 0 || sortedNumbers[i] !== sortedNumbers[i - 1])
      sortedNumbers[count++] = sortedNumbers[i]!;
  return sortedNumbers.subarray(0, count);
}
