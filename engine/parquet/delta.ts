import { acquireBuffer, releaseBuffer } from '../core/buffers.js';
import { bitWidth, packBits } from './hybrid.js';
import type { ByteSink } from './byte-sink.js';
import type { Strings } from './encoder-values.js';

const valuesPerBlock = 128;
const miniblocksPerBlock = 4;
const valuesPerMiniblock = valuesPerBlock / miniblocksPerBlock;
const blockDeltas = new Int32Array(valuesPerBlock);

/**
 * Writes `base + values[from..to)` in DELTA_BINARY_PACKED (Encodings.md, "Delta Encoding"). The values must lie within 2^31 of each other,
 * so that their differences fit into 32 bits.
 */
export function writeDeltas(
  sink: ByteSink,
  values: Int32Array,
  from: number,
  to: number,
  base: number,
): void {
  sink.writeVarint(valuesPerBlock);
  sink.writeVarint(miniblocksPerBlock);
  sink.writeVarint(to - from);
  sink.writeZigzag(from < to ? base + values[from]! : 0);
  for (let start = from + 1; start < to; start += valuesPerBlock) {
    writeBlock(sink, values, start, Math.min(to, start + valuesPerBlock));
  }
}

function writeBlock(sink: ByteSink, values: Int32Array, from: number, to: number): void {
  let least = 0x7fffffff;
  let before = values[from - 1]!;
  for (let i = from; i < to; i++) {
    const value = values[i]!;
    const delta = (value - before) | 0;
    before = value;
    blockDeltas[i - from] = delta;
    if (delta < least) least = delta;
  }
  sink.writeZigzag(least);
  const count = to - from;
  for (let i = 0; i < count; i++) blockDeltas[i]! -= least;
  sink.reserve(miniblocksPerBlock + 4 * (valuesPerBlock + 2));
  const widthsOffset = sink.endOffset;
  sink.endOffset += miniblocksPerBlock;
  for (let m = 0; m < miniblocksPerBlock; m++) {
    const first = m * valuesPerMiniblock;
    const last = Math.min(count, first + valuesPerMiniblock);
    let any = 0;
    for (let i = first; i < last; i++) any |= blockDeltas[i]!;
    const width = bitWidth(any);
    sink.bytes[widthsOffset + m] = width;
    if (width > 0)
      packBits(sink, blockDeltas, first, last, width, (valuesPerMiniblock / 8) * width);
  }
}

/**
 * Writes the strings from `from` to before `to` in DELTA_BYTE_ARRAY (Encodings.md, "Delta Strings"): the lengths of shared prefixes, then
 * the suffixes.
 */
export function writeDeltaStrings(
  sink: ByteSink,
  strings: Strings,
  from: number,
  to: number,
): void {
  const { offsets, bytes } = strings;
  const count = to - from;
  const prefixes = acquireBuffer(Int32Array, count);
  const suffixes = acquireBuffer(Int32Array, count);
  for (let i = from; i < to; i++) {
    const shared = i === from ? 0 : sharedPrefixLength(strings, i);
    prefixes[i - from] = shared;
    suffixes[i - from] = offsets[i + 1]! - offsets[i]! - shared;
  }
  writeDeltas(sink, prefixes, 0, count, 0);
  writeDeltas(sink, suffixes, 0, count, 0);
  sink.reserve(offsets[to]! - offsets[from]!);
  const out = sink.bytes;
  let at = sink.endOffset;
  for (let i = from; i < to; i++) {
    const end = offsets[i + 1]!;
    for (let k = end - suffixes[i - from]!; k < end; k++) out[at++] = bytes[k]!;
  }
  sink.endOffset = at;
  releaseBuffer(prefixes);
  releaseBuffer(suffixes);
}

/** Writes strings in DELTA_BYTE_ARRAY with empty prefixes, as lengths and then the bytes of all strings: fast to write and to read. */
export function writeUnsharedStrings(
  sink: ByteSink,
  { offsets, bytes }: Strings,
  from: number,
  to: number,
): void {
  const count = to - from;
  const lengths = acquireBuffer(Int32Array, count);
  lengths.fill(0, 0, count);
  writeDeltas(sink, lengths, 0, count, 0);
  for (let i = 0; i < count; i++) lengths[i] = offsets[from + i + 1]! - offsets[from + i]!;
  writeDeltas(sink, lengths, 0, count, 0);
  releaseBuffer(lengths);
  sink.append(bytes.subarray(offsets[from], offsets[to]));
}

/** Returns the number of leading bytes that string `i` shares with the string before it. */
export function sharedPrefixLength({ view, bytes, offsets }: Strings, i: number): number {
  const before = offsets[i - 1]!;
  const from = offsets[i]!;
  const size = Math.min(from - before, offsets[i + 1]! - from);
  let k = 0;
  while (k + 4 <= size && view.getInt32(before + k) === view.getInt32(from + k)) k += 4;
  while (k < size && bytes[before + k] === bytes[from + k]) k++;
  return k;
}
