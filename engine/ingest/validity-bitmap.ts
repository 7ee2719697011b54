import { growBitmap } from '../core/buffers.js';

/** Returns a bitmap whose first `length` bits are set. */
export function bitmapOfOnes(length: number): Uint8Array {
  const bits = new Uint8Array(Math.max(128, (length >> 3) * 2));
  bits.fill(255, 0, length >> 3);
  if ((length & 7) !== 0) bits[length >> 3] = (1 << (length & 7)) - 1;
  return bits;
}

/** Sets bit `i`; returns the bitmap, or a larger copy if it was too short for the bit. */
export function setBit(bits: Uint8Array, i: number): Uint8Array {
  const byte = i >> 3;
  const wide = byte < bits.length ? bits : growBitmap(bits, byte + 1);
  wide[byte]! |= 1 << (i & 7);
  return wide;
}

/** Returns the bitmap, or a larger copy if it has fewer than `length` bits. */
export function growBitmapTo(bits: Uint8Array, length: number): Uint8Array {
  const bytes = (length + 7) >> 3;
  return bytes <= bits.length ? bits : growBitmap(bits, bytes);
}

/** Whether bit `i` is set; false beyond the end. */
export function isBitSet(bits: Uint8Array, i: number): boolean {
  return i >> 3 < bits.length && ((bits[i >> 3]! >> (i & 7)) & 1) === 1;
}
