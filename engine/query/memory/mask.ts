import { acquire, release } from '../../core/buffers.js';
import type { Mask } from './column.js';

const lent = new WeakSet<Uint8Array>();

/** A mask whose bytes are whatever they were: every one has to be written. Fresh ones cost clearing, and drive the collector. */
export function blankMask(rows: number): Uint8Array {
  const mask = acquire(Uint8Array, rows).subarray(0, rows);
  lent.add(mask);
  return mask;
}

/** Gives back a blank mask, which nobody may look at any more; anything else is left alone. */
export function releaseMask(mask: object): void {
  if (mask instanceof Uint8Array && lent.delete(mask)) release(new Uint8Array(mask.buffer));
}

/** How many of a segment's rows match. */
export function countRows(mask: Mask, rows: number): number {
  if (mask === 'none') return 0;
  return mask === 'all' ? rows : countOnes(mask);
}

/** The rows that match, ascending, from row `from` on and at most `limit` of them. */
export function firstRows(mask: Mask, rows: number, limit: number, from = 0): number[] {
  const found: number[] = [];
  if (mask === 'none') return found;
  if (mask === 'all') {
    for (let row = from; row < rows && found.length < limit; row++) found.push(row);
    return found;
  }
  // Of bytes, Buffer finds the next one at the speed of memory.
  const bytes = Buffer.from(mask.buffer, mask.byteOffset, mask.length);
  for (let row = from; row < rows && found.length < limit; row++) {
    if (mask[row] !== 1) row = bytes.indexOf(1, row);
    if (row < 0) break;
    found.push(row);
  }
  return found;
}

/** How many bytes of a mask are 1. */
export function countOnes(mask: Uint8Array): number {
  const { from, to } = spanOf(mask);
  const words = wordsOf(mask.subarray(from, to));
  let count = 0;
  let next = 0;
  // Four counters of a byte each side by side, emptied before one can run over: 1.3 ms for 5 million rows, byte by byte 5 ms.
  while (next < words.length) {
    const end = Math.min(next + 255, words.length);
    let even = 0;
    let odd = 0;
    for (; next < end; next++) {
      const word = words[next]!;
      even += word & 0x00ff00ff;
      odd += (word >>> 8) & 0x00ff00ff;
    }
    count += (even & 0xffff) + (even >>> 16) + (odd & 0xffff) + (odd >>> 16);
  }
  for (let row = from + (words.length << 2); row < to; row++) count += mask[row]!;
  return count;
}

/** From where, a multiple of four, to where there may be rows that match; records are often sorted by what is asked for. */
export function spanOf(mask: Uint8Array): { readonly from: number; readonly to: number } {
  const bytes = Buffer.from(mask.buffer, mask.byteOffset, mask.length);
  const first = bytes.indexOf(1);
  return first < 0 ? { from: 0, to: 0 } : { from: first & ~3, to: bytes.lastIndexOf(1) + 1 };
}

/** Leaves in `mask` only what is in `other` too. */
export function andInto(mask: Uint8Array, other: Uint8Array): void {
  const [words, others] = [wordsOf(mask), wordsOf(other)];
  if (words.length !== others.length) return andBytes(mask, other, 0);
  for (let i = 0; i < words.length; i++) words[i]! &= others[i]!;
  andBytes(mask, other, words.length << 2);
}

function andBytes(mask: Uint8Array, other: Uint8Array, from: number): void {
  for (let row = from; row < mask.length; row++) mask[row]! &= other[row]!;
}

/** Adds to `mask` what is in `other`. */
export function orInto(mask: Uint8Array, other: Uint8Array): void {
  const [words, others] = [wordsOf(mask), wordsOf(other)];
  if (words.length !== others.length) return orBytes(mask, other, 0);
  for (let i = 0; i < words.length; i++) words[i]! |= others[i]!;
  orBytes(mask, other, words.length << 2);
}

function orBytes(mask: Uint8Array, other: Uint8Array, from: number): void {
  for (let row = from; row < mask.length; row++) mask[row]! |= other[row]!;
}

/** Turns a mask into its opposite. */
export function invert(mask: Uint8Array): void {
  const words = wordsOf(mask);
  for (let i = 0; i < words.length; i++) words[i]! ^= 0x01010101;
  for (let row = words.length << 2; row < mask.length; row++) mask[row]! ^= 1;
}

/** Four rows at a time, which takes a quarter of the time; what is left over, or all if they do not lie on a word, goes byte by byte. */
export function wordsOf(mask: Uint8Array): Uint32Array {
  if (mask.byteOffset % 4 !== 0) return new Uint32Array(0);
  return new Uint32Array(mask.buffer, mask.byteOffset, mask.length >> 2);
}
