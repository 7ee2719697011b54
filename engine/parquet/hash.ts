import type { Strings } from './encoder-values.js';

/** Finalizes a hash: mixes its high bits into its low bits, which choose the slot of a hash table. */
export function finalMix(hash: number): number {
  const product = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return product ^ (product >>> 13) ^ (product >>> 22);
}

/**
 * Returns the hash of `bytes[from..to)`, which is read four bytes at a time; the last read may overlap the one before it. `view` is a view
 * of `bytes`.
 */
export function hashBytes(view: DataView, bytes: Uint8Array, from: number, to: number): number {
  let hash = to - from;
  if (hash < 4) {
    for (let at = from; at < to; at++) hash = (hash << 8) | bytes[at]!;
    return finalMix(hash);
  }
  for (let at = from; at + 4 < to; at += 4) hash = mixWord(hash, view.getInt32(at, true));
  return finalMix(mixWord(hash, view.getInt32(to - 4, true)));
}

/** Returns the hash with the next four bytes, `word`, mixed in. */
export function mixWord(hash: number, word: number): number {
  return Math.imul(((hash << 5) | (hash >>> 27)) ^ word, 0x9e3779b1);
}

/** Returns whether two strings are equal. `a` and `b` are their indices. */
export function areStringsEqual({ view, bytes, offsets }: Strings, a: number, b: number): boolean {
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
  // The last four bytes are compared first, because many strings differ only at their ends.
  if (view.getInt32(end - 4, true) !== view.getInt32(endB - 4, true)) return false;
  for (; p + 4 < end; p += 4, q += 4) {
    if (view.getInt32(p, true) !== view.getInt32(q, true)) return false;
  }
  return true;
}

/** Returns whether all strings are equal; false if there are none. */
export function isConstant({ count, bytes, offsets }: Strings): boolean {
  if (count === 0) return false;
  const from = offsets[0]!;
  const to = offsets[count]!;
  const size = offsets[1]! - from;
  if (to - from !== size * count) return false;
  for (let i = 1; i < count; i++) if (offsets[i]! - from !== size * i) return false;
  // All strings have the same length, so they are equal if the bytes equal themselves shifted by that length.
  return Buffer.compare(bytes.subarray(from, to - size), bytes.subarray(from + size, to)) === 0;
}
