import type { Strings } from './values.js';

/** Finalises a hash: spreads its bits over the low ones, which choose the slot of a hash table. */
export function finalMix(hash: number): number {
  const product = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return product ^ (product >>> 13) ^ (product >>> 22);
}

/** The hash of `bytes[from..to)`, read four bytes at a time; the last four may overlap those before them. `view` is a view of `bytes`. */
export function hashBytes(view: DataView, bytes: Uint8Array, from: number, to: number): number {
  let hash = to - from;
  if (hash < 4) {
    for (let at = from; at < to; at++) hash = (hash << 8) | bytes[at]!;
    return finalMix(hash);
  }
  for (let at = from; at + 4 < to; at += 4) hash = mixWord(hash, view.getInt32(at, true));
  return finalMix(mixWord(hash, view.getInt32(to - 4, true)));
}

/** Adds the next four bytes to a hash. */
export function mixWord(hash: number, word: number): number {
  return Math.imul(((hash << 5) | (hash >>> 27)) ^ word, 0x9e3779b1);
}

/** Whether the strings `a` and `b` are equal. */
export function isSame({ view, bytes, offsets }: Strings, a: number, b: number): boolean {
  let p = offsets[a]!;
  let q = offsets[b]!;
  const end = offsets[a + 1]!;
  const size = end - p;
  const endB = offsets[b + 1]!;
  if (size !== endB - q) return false;
  if (size < 4) {
    for (; p < end; p++, q++) if (bytes[p] !== bytes[q]) return false;
    return true;
  }
  // The last four bytes first: many strings differ in their ends alone.
  if (view.getInt32(end - 4, true) !== view.getInt32(endB - 4, true)) return false;
  for (; p + 4 < end; p += 4, q += 4) {
    if (view.getInt32(p, true) !== view.getInt32(q, true)) return false;
  }
  return true;
}

/** Whether all strings are equal; false if there are none. */
export function isConstant({ count, bytes, offsets }: Strings): boolean {
  if (count === 0) return false;
  const from = offsets[0]!;
  const to = offsets[count]!;
  const size = offsets[1]! - from;
  if (to - from !== size * count) return false;
  for (let i = 1; i < count; i++) if (offsets[i]! - from !== size * i) return false;
  // The bytes equal themselves shifted by one value.
  return Buffer.compare(bytes.subarray(from, to - size), bytes.subarray(from + size, to)) === 0;
}
