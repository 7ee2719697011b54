import type { ByteSink } from './byte-sink.js';
import type { Strings } from './encoder-values.js';

/* Writes the encoding PLAIN (Encodings.md): numbers in little-endian order; each string as its length in four bytes, then its bytes. */

/** Writes the elements `from` to `to`. Their bytes in memory are already PLAIN. */
export function writePlainInt32s(
  sink: ByteSink,
  int32s: Int32Array,
  from: number,
  to: number,
): void {
  sink.append(new Uint8Array(int32s.buffer, int32s.byteOffset + 4 * from, 4 * (to - from)));
}

/** Writes a dictionary of 32-bit values: those at the positions `at`. */
export function writePlainInt32sAt(
  sink: ByteSink,
  int32s: Int32Array,
  at: Int32Array,
  count: number,
): void {
  sink.reserve(4 * count);
  for (let i = 0; i < count; i++) sink.view.setInt32(sink.endOffset + 4 * i, int32s[at[i]!]!, true);
  sink.endOffset += 4 * count;
}

/** Writes a dictionary of 64-bit values, given as low and high halves: those at the positions `at`. */
export function writePlainInt64sAt(
  sink: ByteSink,
  halves: Int32Array,
  at: Int32Array,
  count: number,
): void {
  sink.reserve(8 * count);
  const { view } = sink;
  for (let i = 0, to = sink.endOffset; i < count; i++, to += 8) {
    view.setInt32(to, halves[2 * at[i]!]!, true);
    view.setInt32(to + 4, halves[2 * at[i]! + 1]!, true);
  }
  sink.endOffset += 8 * count;
}

/** Writes the strings with the indices `from` to `to` (exclusive). */
export function writePlainStrings(
  sink: ByteSink,
  strings: Strings,
  from: number,
  to: number,
): void {
  const { offsets } = strings;
  sink.reserve(offsets[to]! - offsets[from]! + 4 * (to - from) + 4);
  for (let i = from; i < to; i++) writePlainString(sink, strings, offsets[i]!, offsets[i + 1]!);
}

/** Writes a dictionary of strings: those at the positions `at`. */
export function writePlainStringsAt(
  sink: ByteSink,
  strings: Strings,
  at: Int32Array,
  count: number,
): void {
  const { offsets } = strings;
  for (let i = 0; i < count; i++) {
    const from = offsets[at[i]!]!;
    const to = offsets[at[i]! + 1]!;
    sink.reserve(to - from + 8);
    writePlainString(sink, strings, from, to);
  }
}

/**
 * Strings of more than this many bytes are copied by `set`; for a shorter one, creating a view and calling `set` cost more than the copy.
 */
const longStringBytes = 256;

function writePlainString(sink: ByteSink, strings: Strings, from: number, to: number): void {
  const { view, bytes } = sink;
  const source = strings.view;
  let at = sink.endOffset;
  view.setInt32(at, to - from, true);
  at += 4;
  if (to - from > longStringBytes) {
    bytes.set(strings.bytes.subarray(from, to), at);
    sink.endOffset = at + to - from;
    return;
  }
  let i = from;
  for (; i + 4 <= to; i += 4, at += 4) view.setInt32(at, source.getInt32(i, true), true);
  for (; i < to; i++) bytes[at++] = strings.bytes[i]!;
  sink.endOffset = at;
}
