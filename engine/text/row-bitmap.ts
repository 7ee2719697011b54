/* Bitmaps of the rows of a segment: row r is bit `r & 7` of byte `r >> 3`. A selection takes an eighth of its memory in this form. */

/** For each number of four bits, its bits as four bytes of 0 or 1. */
const bytesOfFourBits = Uint32Array.from({ length: 16 }, (_, bits) => {
  let word = 0;
  for (let i = 0; i < 4; i++) word |= ((bits >> i) & 1) << (8 * i);
  return word;
});

/** Packs a selection vector with one byte per row (0 or 1) to a bitmap. */
export function packBitmap(selection: Uint8Array): Uint8Array {
  const bits = new Uint8Array((selection.length + 7) >> 3);
  const wholeBytes = selection.length >> 3;
  for (let i = 0, row = 0; i < wholeBytes; i++, row += 8) {
    bits[i] =
      selection[row]! |
      (selection[row + 1]! << 1) |
      (selection[row + 2]! << 2) |
      (selection[row + 3]! << 3) |
      (selection[row + 4]! << 4) |
      (selection[row + 5]! << 5) |
      (selection[row + 6]! << 6) |
      (selection[row + 7]! << 7);
  }
  for (let row = wholeBytes << 3; row < selection.length; row++)
    bits[row >> 3]! |= selection[row]! << (row & 7);
  return bits;
}

/** Unpacks a bitmap to a selection vector of `rows` bytes. */
export function unpackBitmap(bits: Uint8Array, rows: number): Uint8Array {
  const fours = new Uint32Array(bits.length * 2);
  for (let i = 0; i < bits.length; i++) {
    const byte = bits[i]!;
    fours[2 * i] = bytesOfFourBits[byte & 15]!;
    fours[2 * i + 1] = bytesOfFourBits[byte >> 4]!;
  }
  return new Uint8Array(fours.buffer, 0, rows);
}
