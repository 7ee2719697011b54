import { acquire, release } from '../core/buffers.js';
import { bitWidth, packBits } from './hybrid.js';
import type { ByteSink } from './byte-sink.js';
import type { Strings } from './values.js';

const blockValues = 128;
const miniblocks = 4;
const miniblockValues = blockValues / miniblocks;
const deltas = new Int32Array(blockValues);

/**
 * Writes `base + values[from..to)` in DELTA_BINARY_PACKED (Encodings.md, "Delta Encoding"). The values must lie within 2^31 of each
 * other, so that their differences are exact in 32 bits.
 */
export function writeDeltas(
  sink: ByteSink,
  values: Int32Array,
  from: number,
  to: number,
  base: number,
): void {
  sink.varint(blockValues);
  sink.varint(miniblocks);
  sink.varint(to - from);
  sink.zigzag(from < to ? base + values[from]! : 0);
  for (let start = from + 1; start < to; start += blockValues) {
    writeBlock(sink, values, start, Math.min(to, start + blockValues));
  }
}

function writeBlock(sink: ByteSink, values: Int32Array, from: number, to: number): void {
  let least = 0x7fffffff;
  let before = values[from - 1]!;
  for (let i = from; i < to; i++) {
    const value = values[i]!;
    const delta = (value - before) | 0;
    before = value;
    deltas[i - from] = delta;
    if (delta < least) least = delta;
  }
  sink.zigzag(least);
  const count = to - from;
  for (let i = 0; i < count; i++) deltas[i]! -= least;
  sink.reserve(miniblocks + 4 * (blockValues + 2));
  const widths = sink.end;
  sink.end += miniblocks;
  for (let m = 0; m < miniblocks; m++) {
    const first = m * miniblockValues;
    const last = Math.min(count, first + miniblockValues);
    let any = 0;
    for (let i = first; i < last; i++) any |= deltas[i]!;
    const width = bitWidth(any);
    sink.bytes[widths + m] = width;
    if (width > 0) packBits(sink, deltas, first, last, width, (miniblockValues / 8) * width);
  }
}

/** Writes the strings `from` to `to` in DELTA_BYTE_ARRAY (Encodings.md, "Delta Strings"): shared prefix lengths, then suffixes. */
export function writeDeltaStrings(
  sink: ByteSink,
  strings: Strings,
  from: number,
  to: number,
): void {
  const { offsets, bytes } = strings;
  const count = to - from;
  const prefixes = acquire(Int32Array, count);
  const suffixes = acquire(Int32Array, count);
  for (let i = from; i < to; i++) {
    const shared = i === from ? 0 : sharedPrefix(strings, i);
    prefixes[i - from] = shared;
    suffixes[i - from] = offsets[i + 1]! - offsets[i]! - shared;
  }
  writeDeltas(sink, prefixes, 0, count, 0);
  writeDeltas(sink, suffixes, 0, count, 0);
  sink.reserve(offsets[to]! - offsets[from]!);
  const out = sink.bytes;
  let at = sink.end;
  for (let i = from; i < to; i++) {
    const end = offsets[i + 1]!;
    for (let k = end - suffixes[i - from]!; k < end; k++) out[at++] = bytes[k]!;
  }
  sink.end = at;
  release(prefixes);
  release(suffixes);
}

/** Writes strings without shared prefixes: the lengths of all strings, then their bytes, which is fast to write and to read. */
export function writeUnsharedStrings(
  sink: ByteSink,
  { offsets, bytes }: Strings,
  from: number,
  to: number,
): void {
  const count = to - from;
  const lengths = acquire(Int32Array, count);
  lengths.fill(0, 0, count);
  writeDeltas(sink, lengths, 0, count, 0);
  for (let i = 0; i < count; i++) lengths[i] = offsets[from + i + 1]! - offsets[from + i]!;
  writeDeltas(sink, lengths, 0, count, 0);
  release(lengths);
  sink.append(bytes.subarray(offsets[from], offsets[to]));
}

/** Number of leading bytes that string `i` shares with the string before it. */
export function sharedPrefix({ view, bytes, offsets }: Strings, i: number): number {
  const before = offsets[i - 1]!;
  const from = offsets[i]!;
  const size = Math.min(from - before, offsets[i + 1]! - from);
  let k = 0;
  while (k + 4 <= size && view.getInt32(before + k) === view.getInt32(from + k)) k += 4;
  while (k < size && bytes[before + k] === bytes[from + k]) k++;
  return k;
}
