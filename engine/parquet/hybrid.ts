import type { ByteSink } from './byte-sink.js';

/** Returns the number of bits that the numbers from 0 to `most` need. */
export function bitWidth(most: number): number {
  return 32 - Math.clz32(most);
}

/**
 * Writes `values[from..to)` in the RLE / bit-packing hybrid (Encodings.md, "Run Length Encoding / Bit-Packing Hybrid"): runs of one
 * value as a count and the value, the others bit-packed in groups of eight. `width` is at least 1.
 */
export function writeRleBitPacked(
  sink: ByteSink,
  values: Int32Array,
  from: number,
  to: number,
  width: number,
): void {
  // A run costs its header, its value and the header of the bit-packed run after it. Bit packing is smaller for fewer equal values than
  // this.
  const shortest = Math.max(8, Math.ceil(48 / width));
  let packed = from;
  let i = from;
  while (i < to) {
    const value = values[i]!;
    const stop = Math.min(to, i + shortest);
    let end = i + 1;
    while (end < stop && values[end] === value) end++;
    if (end - i < shortest) {
      // No run that is long enough begins before `end`. The values that are bit-packed before a run must fill whole groups of eight.
      i += (end - i + 7) & ~7;
      continue;
    }
    while (end < to && values[end] === value) end++;
    if (packed < i) writePacked(sink, values, packed, i, width);
    writeRun(sink, value, end - i, width);
    packed = i = end;
  }
  if (packed < to) writePacked(sink, values, packed, to, width);
}

/** Writes a run of `count` equal values. */
export function writeRun(sink: ByteSink, value: number, count: number, width: number): void {
  sink.writeVarint(count * 2);
  for (let shift = 0; shift < width; shift += 8) sink.writeByte((value >>> shift) & 255);
}

function writePacked(
  sink: ByteSink,
  values: Int32Array,
  from: number,
  to: number,
  width: number,
): void {
  const groups = (to - from + 7) >> 3;
  sink.writeVarint(groups * 2 + 1);
  packBits(sink, values, from, to, width, groups * width);
}

/** Numbers each of which is `base` or `base + 1`: number i is `base` plus bit `firstBit + i` of a bitmap. */
export interface BitNumbers {
  readonly base: number;
  readonly bits: Uint8Array;
  readonly firstBit: number;
}

/** Returns eight bits of a bitmap, from bit `bit` on, as a number; the bits after the end of the bitmap are 0. */
export function bitsAt(bits: Uint8Array, bit: number): number {
  const at = bit >> 3;
  const shift = bit & 7;
  const eight = bits[at]! >> shift;
  return shift > 0 && at + 1 < bits.length ? eight | ((bits[at + 1]! << (8 - shift)) & 255) : eight;
}

/** The largest `base` for `writeBitNumbers`, whose numbers have up to four bits: eight of them fit into a word. */
export const maxBitNumberBase = 14;
/** For each width in bits, the eight bits of each byte as numbers of that width. */
const spreadBits = Array.from({ length: bitWidth(maxBitNumberBase + 1) + 1 }, (_, width) =>
  Int32Array.from({ length: 256 }, (_, byte) => {
    let word = 0;
    for (let i = 0; i < 8; i++) word |= ((byte >> i) & 1) << (i * width);
    return word;
  }),
);

/** Writes numbers that follow from a bitmap in the RLE / bit-packing hybrid (`writeRleBitPacked`), eight bits at a time. */
export function writeBitNumbers(
  sink: ByteSink,
  { base, bits, firstBit }: BitNumbers,
  from: number,
  to: number,
  width: number,
): void {
  const groups = (to - from + 7) >> 3;
  const first = firstBit + from;
  const count = to - from;
  // As in `writeRleBitPacked`, a run of equal numbers has to be long enough.
  const shortest = Math.ceil(6 / width);
  let packed = 0;
  for (let group = 0; group < groups;) {
    const eight = paddedBitsAt(bits, first + 8 * group, count - 8 * group);
    let end = group + 1;
    if (eight === 0 || eight === 255) {
      while (end < groups && paddedBitsAt(bits, first + 8 * end, count - 8 * end) === eight) end++;
      if (end - group >= shortest) {
        packGroups(packed, group);
        writeRun(sink, base + (eight & 1), Math.min(count, 8 * end) - 8 * group, width);
        packed = end;
      }
    }
    group = end;
  }
  packGroups(packed, groups);

  function packGroups(group: number, end: number): void {
    if (group === end) return;
    sink.writeVarint((end - group) * 2 + 1);
    sink.reserve((end - group) * width + 4);
    const { view } = sink;
    const spread = spreadBits[width]!;
    const bases = base * spread[255]!;
    for (let i = group; i < end; i++, sink.endOffset += width) {
      const eight = paddedBitsAt(bits, first + 8 * i, count - 8 * i);
      view.setInt32(sink.endOffset, bases + spread[eight]!, true);
    }
  }
}

/** Returns eight bits of a bitmap, from bit `bit` on, as a number; those after the first `count` are copies of the last of these. */
function paddedBitsAt(bits: Uint8Array, bit: number, count: number): number {
  const eight = bitsAt(bits, bit);
  if (count >= 8) return eight;
  const paddingBits = 256 - (1 << count);
  return (eight >> (count - 1)) & 1 ? eight | paddingBits : eight & ~paddingBits;
}

/** Packs `values[from..to)`, lowest bit first, and pads with zeros to `length` bytes. */
export function packBits(
  sink: ByteSink,
  values: Int32Array,
  from: number,
  to: number,
  width: number,
  length: number,
): void {
  sink.reserve(length + 8);
  const { view, endOffset } = sink;
  let at = endOffset;
  let word = 0;
  let bits = 0;
  let i = from;
  while (i < to) {
    let value = values[i]!;
    let takenCount = 1;
    // Two or four narrow values are combined before they are shifted into the word: this takes a third of the time for levels.
    if (width <= 7 && i + 4 <= to) {
      value |=
        (values[i + 1]! << width) |
        (values[i + 2]! << (2 * width)) |
        (values[i + 3]! << (3 * width));
      takenCount = 4;
    } else if (width <= 15 && i + 2 <= to) {
      value |= values[i + 1]! << width;
      takenCount = 2;
    }
    i += takenCount;
    const size = takenCount * width;
    word |= value << bits;
    bits += size;
    if (bits >= 32) {
      view.setInt32(at, word, true);
      at += 4;
      bits -= 32;
      word = bits === 0 ? 0 : value >>> (size - bits);
    }
  }
  const stop = endOffset + length;
  if (bits > 0) {
    view.setInt32(at, word, true);
    at += 4;
  }
  if (at < stop) sink.bytes.fill(0, at, stop);
  sink.endOffset = stop;
}
