import { isAscii } from 'node:buffer';

/** Many texts as plain data that can be sent between threads quickly. */
export interface PackedTexts {
  /** The texts in UTF-8. */
  readonly bytes: Uint8Array;
  /** The offset of the first byte of each text, and the end of the last text. */
  readonly offsets: Int32Array;
}

/** Packs texts, which must not contain lone surrogates. */
export function packTexts(texts: readonly string[]): PackedTexts {
  const all = texts.join('');
  const bytes = utf8Encoder.encode(all);
  const isPlain = bytes.length === all.length;
  const offsets = new Int32Array(texts.length + 1);
  for (let i = 0; i < texts.length; i++) {
    const text = texts[i]!;
    offsets[i + 1] = offsets[i]! + (isPlain ? text.length : Buffer.byteLength(text));
  }
  return { bytes, offsets };
}

/** Returns the packed texts as strings. */
export function unpackTexts({ bytes, offsets }: PackedTexts): string[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  // Decoding all texts at once and cutting the result is much faster than decoding each text.
  const all = isAscii(buffer) ? buffer.toString('latin1') : null;
  const texts: string[] = [];
  for (let i = 0; i + 1 < offsets.length; i++) {
    const [from, to] = [offsets[i]!, offsets[i + 1]!];
    texts.push(all === null ? buffer.toString('utf8', from, to) : all.slice(from, to));
  }
  return texts;
}

/** Returns the text at an index. */
export function textAt({ bytes, offsets }: PackedTexts, at: number): string {
  const from = bytes.byteOffset + offsets[at]!;
  return Buffer.from(bytes.buffer, from, offsets[at + 1]! - offsets[at]!).toString();
}

/** Packs one text of each source: the text at index `places[i]` of source i, or an empty text if the source is null. */
export function gatherTexts(
  sources: readonly (PackedTexts | null)[],
  places: ArrayLike<number>,
): PackedTexts {
  const offsets = new Int32Array(sources.length + 1);
  for (let i = 0; i < sources.length; i++) {
    const source = sources[i]!;
    offsets[i + 1] = offsets[i]! + (source === null ? 0 : byteLengthAt(source, places[i]!));
  }
  const bytes = new Uint8Array(offsets[sources.length]!);
  for (let i = 0; i < sources.length; i++) {
    const source = sources[i]!;
    if (source === null) continue;
    const from = source.offsets[places[i]!]! - offsets[i]!;
    const end = offsets[i + 1]!;
    // The texts are short, so a loop is faster than `set`.
    for (let to = offsets[i]!; to < end; to++) bytes[to] = source.bytes[from + to]!;
  }
  return { bytes, offsets };
}

/** Packs the JSON string literals of the texts with these indices. */
export function packLiterals(
  { bytes, offsets }: PackedTexts,
  some: readonly number[],
): PackedTexts {
  const ends = new Int32Array(some.length + 1);
  /** The literals of the texts that contain characters to escape, by the index in `some`. */
  const escapedCodes = new Map<number, Uint8Array>();
  for (let i = 0; i < some.length; i++) {
    const [from, to] = [offsets[some[i]!]!, offsets[some[i]! + 1]!];
    let at = from;
    while (at < to && isPlainByte(bytes[at]!)) at++;
    let size = to - from + 2;
    if (at < to) {
      const literal = Buffer.from(JSON.stringify(textAt({ bytes, offsets }, some[i]!)));
      escapedCodes.set(i, literal);
      size = literal.length;
    }
    ends[i + 1] = ends[i]! + size;
  }
  const out = new Uint8Array(ends[some.length]!);
  for (let i = 0; i < some.length; i++) {
    const literal = escapedCodes.size === 0 ? undefined : escapedCodes.get(i);
    let end = ends[i]!;
    if (literal !== undefined) {
      out.set(literal, end);
      continue;
    }
    const to = offsets[some[i]! + 1]!;
    out[end++] = quote;
    for (let from = offsets[some[i]!]!; from < to; from++) out[end++] = bytes[from]!;
    out[end] = quote;
  }
  return { bytes: out, offsets: ends };
}

/** Returns the position of the first byte from `at` on that cannot stand unescaped in a JSON string, such as the closing quote. */
export function endOfPlainText(bytes: Uint8Array, at: number): number {
  let end = at;
  while (isPlainByte(bytes[end]!)) end++;
  return end;
}

/** Whether a byte of UTF-8 can stand unescaped in a JSON string. */
function isPlainByte(byte: number): boolean {
  return byte >= 0x20 && byte !== quote && byte !== backslash;
}

const [quote, backslash] = [0x22, 0x5c];

/** The length of a text in bytes. */
export function byteLengthAt({ offsets }: PackedTexts, at: number): number {
  return offsets[at + 1]! - offsets[at]!;
}

const utf8Encoder = new TextEncoder();
