/*
 * Rows of a segment as bits, row r bit r & 7 of byte r >> 3: the form in which they go from thread to thread. As bytes, those of 5
 * million rows took 10 ms each way.
 */

/** The bytes 0 and 1 of four rows, for each of 16 values of four bits. */
const fours = Uint32Array.from({ length: 16 }, (_, bits) => {
  let word = 0;
  for (let i = 0; i < 4; i++) word |= ((bits >> i) & 1) << (8 * i);
  return word;
});

/** The bits of a mask, in which a byte is 1 for each of these rows and else 0. */
export function packBitmap(mask: Uint8Array): Uint8Array {
  const bits = new Uint8Array((mask.length + 7) >> 3);
  const whole = mask.length >> 3;
  for (let i = 0, row = 0; i < whole; i++, row += 8) {
    bits[i] =
      mask[row]! |
      (mask[row + 1]! << 1) |
      (mask[row + 2]! << 2) |
      (mask[row + 3]! << 3) |
      (mask[row + 4]! << 4) |
      (mask[row + 5]! << 5) |
      (mask[row + 6]! << 6) |
      (mask[row + 7]! << 7);
  }
  for (let row = whole << 3; row < mask.length; row++) bits[row >> 3]! |= mask[row]! << (row & 7);
  return bits;
}

/** The mask of `rows` rows again. */
export function unpackBitmap(bits: Uint8Array, rows: number): Uint8Array {
  const words = new Uint32Array(bits.length * 2);
  for (let i = 0; i < bits.length; i++) {
    const byte = bits[i]!;
    words[2 * i] = fours[byte & 15]!;
    words[2 * i + 1] = fours[byte >> 4]!;
  }
  return new Uint8Array(words.buffer, 0, rows);
}

/** The numbers of the rows, ascending. */
export function bitmapRows(bits: Uint8Array): Int32Array {
  let count = 0;
  for (let i = 0; i < bits.length; i++)
    for (let byte = bits[i]!; byte !== 0; byte &= byte - 1) count += 1;
  const rows = new Int32Array(count);
  let end = 0;
  for (let i = 0; i < bits.length; i++) {
    for (let byte = bits[i]!; byte !== 0; byte &= byte - 1)
      rows[end++] = 8 * i + 31 - Math.clz32(byte & -byte);
  }
  return rows;
}
