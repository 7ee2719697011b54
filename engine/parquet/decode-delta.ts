import type { ByteSource } from './byte-source.js';
import { unpackBits } from './decode-hybrid.js';

/*
 * Reads DELTA_BINARY_PACKED (Encodings.md, "Delta Encoding"): blocks of a minimum difference, and bit-packed miniblocks of the
 * differences above that minimum.
 */

/** The unpacked numbers of one miniblock; enlarged if a file has larger miniblocks than this code writes. */
let unpackedMiniblock = new Int32Array(32);

/** Decodes `count` integers to `out[to]` and following: 32-bit ones, or the low half of 64-bit ones. */
export function readDeltaInts(
  source: ByteSource,
  count: number,
  out: Int32Array,
  to: number,
): void {
  const { miniblocks, size, first } = readDeltaHeader(source, count);
  if (count === 0) return;
  let value = first | 0;
  out[to] = value;
  const end = to + count;
  for (let i = to + 1; i < end;) {
    const least = source.readZigzag() | 0;
    const { readOffset: widths } = source;
    source.skip(miniblocks);
    for (let m = 0; m < miniblocks && i < end; m++) {
      const width = source.bytes[widths + m]!;
      const { readOffset } = source;
      source.skip((size / 8) * width);
      const stop = i + size < end ? i + size : end;
      if (width === 0) {
        for (; i < stop; i++) out[i] = value = (value + least) | 0;
        continue;
      }
      unpackBits(source, readOffset, width, size, unpackedMiniblock, 0);
      for (let k = 0; i < stop; i++, k++)
        out[i] = value = (value + least + unpackedMiniblock[k]!) | 0;
    }
  }
}

/** Decodes `count` 64-bit integers, each of which a double holds exactly, to `out[to]` and following. */
export function readDeltaDoubles(
  source: ByteSource,
  count: number,
  out: Float64Array,
  to: number,
): void {
  const { miniblocks, size, first } = readDeltaHeader(source, count);
  if (count === 0) return;
  let value = first;
  out[to] = value;
  const end = to + count;
  for (let i = to + 1; i < end;) {
    const least = source.readZigzag();
    const { readOffset: widths } = source;
    source.skip(miniblocks);
    for (let m = 0; m < miniblocks && i < end; m++) {
      const width = source.bytes[widths + m]!;
      const { readOffset: at } = source;
      source.skip((size / 8) * width);
      const stop = i + size < end ? i + size : end;
      unpackBits(source, at, width, size, unpackedMiniblock, 0);
      for (let k = 0; i < stop; i++, k++) out[i] = value += least + (unpackedMiniblock[k]! >>> 0);
    }
  }
}

/**
 * Decodes, as doubles, the 64-bit integers at the positions in the first `picked` entries of `picks`, which are ascending. No miniblock
 * after that of the last one is decoded. 32-bit integers are exact modulo 2^32.
 */
export function pickDeltaDoubles(
  source: ByteSource,
  count: number,
  picks: Int32Array,
  picked: number,
  out: Float64Array,
): void {
  const { miniblocks, size, first } = readDeltaHeader(source, count);
  let value = first;
  let next = 0;
  if (picks[0] === 0) out[next++] = value;
  for (let i = 1; next < picked;) {
    const least = source.readZigzag();
    const { readOffset: widths } = source;
    source.skip(miniblocks);
    for (let m = 0; m < miniblocks && next < picked; m++) {
      const width = source.bytes[widths + m]!;
      const { readOffset: at } = source;
      source.skip((size / 8) * width);
      unpackBits(source, at, width, size, unpackedMiniblock, 0);
      for (let k = 0; k < size && next < picked; i++, k++) {
        value += least + (unpackedMiniblock[k]! >>> 0);
        if (i === picks[next]) out[next++] = value;
      }
    }
  }
}

function readDeltaHeader(
  source: ByteSource,
  count: number,
): { readonly miniblocks: number; readonly size: number; readonly first: number } {
  const blockValues = source.readVarint();
  const miniblocks = source.readVarint();
  const total = source.readVarint();
  if (total !== count) throw new RangeError(`a page with ${count} values has ${total} differences`);
  const size = blockValues / miniblocks;
  if (!Number.isInteger(size) || size % 8 !== 0 || size > 65_536) {
    throw new RangeError(
      `a miniblock has ${size} differences, must be a multiple of 8 up to 65536`,
    );
  }
  if (unpackedMiniblock.length < size) unpackedMiniblock = new Int32Array(size);
  return { miniblocks, size, first: source.readZigzag() };
}
