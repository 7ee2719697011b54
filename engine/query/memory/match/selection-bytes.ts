import { releaseUncountedBuffer, acquireUncountedBuffer } from '../../../core/buffers.js';
import type { SelectionBytes } from './column.js';

const acquiredSelections = new WeakSet<Uint8Array>();

/**
 * Acquires an array for a selection vector with one byte per row from a pool, because a new array would have to be cleared and
 * garbage-collected. The bytes are not cleared: the caller must write all of them.
 */
export function acquireBytes(rows: number): Uint8Array {
  const selected = acquireUncountedBuffer(Uint8Array, rows).subarray(0, rows);
  acquiredSelections.add(selected);
  return selected;
}

/** Releases an array from `acquireBytes`, which must not be read afterwards. Any other selection is ignored. */
export function releaseBytes(selected: SelectionBytes | Int32Array): void {
  if (selected instanceof Uint8Array && acquiredSelections.delete(selected))
    releaseUncountedBuffer(new Uint8Array(selected.buffer));
}

/** Returns the numbers of selected rows in ascending order: those from row `from` on, at most `limit`. */
export function firstRows(
  selected: SelectionBytes,
  rows: number,
  limit: number,
  from = 0,
): number[] {
  const numbers: number[] = [];
  if (selected === 'none') return numbers;
  if (selected === 'all') {
    for (let row = from; row < rows && numbers.length < limit; row++) numbers.push(row);
    return numbers;
  }
  // `Buffer.indexOf` finds the next byte at the speed of memory.
  const bytes = Buffer.from(selected.buffer, selected.byteOffset, selected.length);
  for (let row = from; row < rows && numbers.length < limit; row++) {
    if (selected[row] !== 1) row = bytes.indexOf(1, row);
    if (row < 0) break;
    numbers.push(row);
  }
  return numbers;
}

/** Returns the number of bytes that are 1; if it is greater than `enough`, some number that is greater than `enough`. */
export function countOnes(selected: Uint8Array, enough = Infinity): number {
  const { from, to } = selectedSpan(selected);
  const words = wordsOf(selected.subarray(from, to));
  let count = 0;
  let next = 0;
  // The sum of at most 255 words is four one-byte counters, none of which overflows.
  while (next < words.length) {
    if (count > enough) return count;
    const end = Math.min(next + 255, words.length);
    let sum = 0;
    for (; next < end; next++) sum = (sum + words[next]!) | 0;
    count += (sum & 0xff) + ((sum >>> 8) & 0xff) + ((sum >>> 16) & 0xff) + (sum >>> 24);
  }
  for (let row = from + (words.length << 2); row < to; row++) count += selected[row]!;
  return count;
}

/**
 * Returns the smallest range of rows that starts at a multiple of four and contains all selected rows. It is often short, because records
 * are often sorted by the filtered field.
 */
export function selectedSpan(selected: Uint8Array): { readonly from: number; readonly to: number } {
  const bytes = Buffer.from(selected.buffer, selected.byteOffset, selected.length);
  const first = bytes.indexOf(1);
  return first < 0 ? { from: 0, to: 0 } : { from: first & ~3, to: bytes.lastIndexOf(1) + 1 };
}

/** Clears the bytes of `selected` that are 0 in `other`. */
export function intersectInto(selected: Uint8Array, other: Uint8Array): void {
  const [words, otherWords] = [wordsOf(selected), wordsOf(other)];
  if (words.length !== otherWords.length) return intersectBytes(selected, other, 0);
  for (let i = 0; i < words.length; i++) words[i]! &= otherWords[i]!;
  intersectBytes(selected, other, words.length << 2);
}

function intersectBytes(selected: Uint8Array, other: Uint8Array, from: number): void {
  for (let row = from; row < selected.length; row++) selected[row]! &= other[row]!;
}

/** Sets the bytes of `selected` that are 1 in `other`. */
export function uniteInto(selected: Uint8Array, other: Uint8Array): void {
  const [words, otherWords] = [wordsOf(selected), wordsOf(other)];
  if (words.length !== otherWords.length) return uniteBytes(selected, other, 0);
  for (let i = 0; i < words.length; i++) words[i]! |= otherWords[i]!;
  uniteBytes(selected, other, words.length << 2);
}

function uniteBytes(selected: Uint8Array, other: Uint8Array, from: number): void {
  for (let row = from; row < selected.length; row++) selected[row]! |= other[row]!;
}

/** Replaces every 0 by 1 and every 1 by 0. */
export function invert(selected: Uint8Array): void {
  const words = wordsOf(selected);
  for (let i = 0; i < words.length; i++) words[i]! ^= 0x01010101;
  for (let row = words.length << 2; row < selected.length; row++) selected[row]! ^= 1;
}

/**
 * Returns the bytes as 32-bit words, each of which holds four rows. Rows after the last whole word are left out. Returns an empty array if
 * the bytes do not start at a multiple of four.
 */
export function wordsOf(selected: Uint8Array): Uint32Array {
  if (selected.byteOffset % 4 !== 0) return new Uint32Array(0);
  return new Uint32Array(selected.buffer, selected.byteOffset, selected.length >> 2);
}
