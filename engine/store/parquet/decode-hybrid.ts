import type { ByteSource } from './byte-source.js';

/** Reads `count` numbers of `width` bits in the RLE / bit-packing hybrid (Encodings.md, "RLE") into `out`. */
export function readHybrid(
  source: ByteSource,
  width: number,
  count: number,
  out: Int32Array | Uint16Array | Uint8Array,
): void {
  let done = 0;
  while (done < count) {
    const header = source.varint();
    if (header % 2 === 0) {
      let value = 0;
      for (let shift = 0; shift < width; shift += 8) value |= source.byte() << shift;
      const end = done + header / 2;
      if (end > count) throw new RangeError('a run is longer than its page');
      out.fill(value, done, end);
      done = end;
    } else {
      // Packed in groups of eight: the last group may have more than there is room for.
      const packed = ((header - 1) / 2) * 8;
      const size = Math.min(packed, count - done);
      unpackBits(source.take((packed / 8) * width), width, size, out, done);
      done += size;
    }
  }
}

/** Unpacks `count` numbers of up to 32 bits from the lowest bit on, to `out` from `to` on. */
export function unpackBits(
  bytes: Uint8Array,
  width: number,
  count: number,
  out: Int32Array | Uint16Array | Uint8Array,
  to: number,
): void {
  if (width === 0) {
    out.fill(0, to, to + count);
    return;
  }
  const unit = 2 ** width;
  let word = 0; // below 2^40: a double holds it
  let bits = 0;
  let at = 0;
  for (let i = 0; i < count; i++) {
    while (bits < width) {
      word += bytes[at++]! * 2 ** bits;
      bits += 8;
    }
    out[to + i] = word % unit;
    word = Math.floor(word / unit);
    bits -= width;
  }
}
