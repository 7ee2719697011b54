import type { ByteSink } from './byte-sink.js';
import type { Texts } from './values.js';

/*
 * PLAIN (Encodings.md): numbers in little-endian order, texts each behind its length in four bytes.
 */

/** Numbers that lie in memory as Parquet wants them: elements `from` to `to` of 32-bit words. */
export function plainWords(sink: ByteSink, words: Int32Array, from: number, to: number): void {
  sink.append(new Uint8Array(words.buffer, words.byteOffset + 4 * from, 4 * (to - from)));
}

/** The words at these positions: the dictionary of a column of 32 bits. */
export function plainWordsAt(
  sink: ByteSink,
  words: Int32Array,
  at: Int32Array,
  count: number,
): void {
  sink.reserve(4 * count);
  for (let i = 0; i < count; i++) sink.view.setInt32(sink.end + 4 * i, words[at[i]!]!, true);
  sink.end += 4 * count;
}

/** The pairs of words at these positions: the dictionary of a column of 64 bits. */
export function plainPairsAt(
  sink: ByteSink,
  pairs: Int32Array,
  at: Int32Array,
  count: number,
): void {
  sink.reserve(8 * count);
  const { view } = sink;
  for (let i = 0, to = sink.end; i < count; i++, to += 8) {
    view.setInt32(to, pairs[2 * at[i]!]!, true);
    view.setInt32(to + 4, pairs[2 * at[i]! + 1]!, true);
  }
  sink.end += 8 * count;
}

/** Texts `from` to `to`. */
export function plainTexts(sink: ByteSink, texts: Texts, from: number, to: number): void {
  const { offsets } = texts;
  sink.reserve(offsets[to]! - offsets[from]! + 4 * (to - from) + 4);
  for (let i = from; i < to; i++) plainText(sink, texts, offsets[i]!, offsets[i + 1]!);
}

/** The texts at these positions: the dictionary of a column of text. */
export function plainTextsAt(sink: ByteSink, texts: Texts, at: Int32Array, count: number): void {
  const { offsets } = texts;
  for (let i = 0; i < count; i++) {
    const from = offsets[at[i]!]!;
    const to = offsets[at[i]! + 1]!;
    sink.reserve(to - from + 8);
    plainText(sink, texts, from, to);
  }
}

const longText = 256;

/** Copies in words: most texts are too short for `set`, which makes a view and a call of each. */
function plainText(sink: ByteSink, texts: Texts, from: number, to: number): void {
  const { view, bytes } = sink;
  const source = texts.view;
  let at = sink.end;
  view.setInt32(at, to - from, true);
  at += 4;
  if (to - from > longText) {
    bytes.set(texts.bytes.subarray(from, to), at);
    sink.end = at + to - from;
    return;
  }
  let i = from;
  for (; i + 4 <= to; i += 4, at += 4) view.setInt32(at, source.getInt32(i, true), true);
  for (; i < to; i++) bytes[at++] = texts.bytes[i]!;
  sink.end = at;
}
