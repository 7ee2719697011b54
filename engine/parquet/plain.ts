import type { ByteSink } from './byte-sink.js';
import type { Strings } from './values.js';

/*
 * Writes PLAIN (Encodings.md): numbers in little-endian order, strings each after its length in four bytes.
 */

/** Writes the elements `from` to `to`, whose memory already has the form of PLAIN. */
export function plainInt32s(sink: ByteSink, int32s: Int32Array, from: number, to: number): void {
  sink.append(new Uint8Array(int32s.buffer, int32s.byteOffset + 4 * from, 4 * (to - from)));
}

/** Writes the values at the positions `at`: a dictionary of 32-bit values. */
export function plainInt32sAt(
  sink: ByteSink,
  int32s: Int32Array,
  at: Int32Array,
  count: number,
): void {
  sink.reserve(4 * count);
  for (let i = 0; i < count; i++) sink.view.setInt32(sink.end + 4 * i, int32s[at[i]!]!, true);
  sink.end += 4 * count;
}

/** Writes the values at the positions `at`, given as low and high halves: a dictionary of 64-bit values. */
export function plainInt64sAt(
  sink: ByteSink,
  halves: Int32Array,
  at: Int32Array,
  count: number,
): void {
  sink.reserve(8 * count);
  const { view } = sink;
  for (let i = 0, to = sink.end; i < count; i++, to += 8) {
    view.setInt32(to, halves[2 * at[i]!]!, true);
    view.setInt32(to + 4, halves[2 * at[i]! + 1]!, true);
  }
  sink.end += 8 * count;
}

/** Writes the strings `from` to `to`. */
export function plainStrings(sink: ByteSink, strings: Strings, from: number, to: number): void {
  const { offsets } = strings;
  sink.reserve(offsets[to]! - offsets[from]! + 4 * (to - from) + 4);
  for (let i = from; i < to; i++) plainString(sink, strings, offsets[i]!, offsets[i + 1]!);
}

/** Writes the strings at the positions `at`: a dictionary of strings. */
export function plainStringsAt(
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
    plainString(sink, strings, from, to);
  }
}

/** Longer strings are copied by `set`, whose call and view cost more than the copy of a short string. */
const longString = 256;

function plainString(sink: ByteSink, strings: Strings, from: number, to: number): void {
  const { view, bytes } = sink;
  const source = strings.view;
  let at = sink.end;
  view.setInt32(at, to - from, true);
  at += 4;
  if (to - from > longString) {
    bytes.set(strings.bytes.subarray(from, to), at);
    sink.end = at + to - from;
    return;
  }
  let i = from;
  for (; i + 4 <= to; i += 4, at += 4) view.setInt32(at, source.getInt32(i, true), true);
  for (; i < to; i++) bytes[at++] = strings.bytes[i]!;
  sink.end = at;
}
