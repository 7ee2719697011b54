import { isAscii } from 'node:buffer';

/** Many strings as plain data that can be sent between threads quickly. */
export interface PackedStrings {
  /** The strings in UTF-8. */
  readonly bytes: Uint8Array;
  /** The offset of the first byte of each string, and the end of the last string. */
  readonly offsets: Int32Array;
}

/** Packs strings, which must not contain lone surrogates. */
export function packStrings(strings: readonly string[]): PackedStrings {
  const all = strings.join('');
  const bytes = utf8Encoder.encode(all);
  const isPlain = bytes.length === all.length;
  const offsets = new Int32Array(strings.length + 1);
  for (let i = 0; i < strings.length; i++) {
    const text = strings[i]!;
    offsets[i + 1] = offsets[i]! + (isPlain ? text.length : Buffer.byteLength(text));
  }
  return { bytes, offsets };
}

/** Returns the packed strings. */
export function unpackStrings({ bytes, offsets }: PackedStrings): string[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  // Decoding all strings at once and cutting the result is much faster than decoding each string.
  const all = isAscii(buffer) ? buffer.toString('latin1') : null;
  const strings: string[] = [];
  for (let i = 0; i + 1 < offsets.length; i++) {
    const [from, to] = [offsets[i]!, offsets[i + 1]!];
    strings.push(all === null ? buffer.toString('utf8', from, to) : all.slice(from, to));
  }
  return strings;
}

/** Returns the string at an index. */
export function stringAt({ bytes, offsets }: PackedStrings, at: number): string {
  const from = bytes.byteOffset + offsets[at]!;
  return Buffer.from(bytes.buffer, from, offsets[at + 1]! - offsets[at]!).toString();
}

/** Packs one string of each source: the string at index `indexes[i]` of source i, or an empty string if the source is null. */
export function gatherStrings(
  sources: readonly (PackedStrings | null)[],
  indexes: ArrayLike<number>,
): PackedStrings {
  const offsets = new Int32Array(sources.length + 1);
  for (let i = 0; i < sources.length; i++) {
    const source = sources[i]!;
    offsets[i + 1] = offsets[i]! + (source === null ? 0 : byteLengthAt(source, indexes[i]!));
  }
  const bytes = new Uint8Array(offsets[sources.length]!);
  for (let i = 0; i < sources.length; i++) {
    const source = sources[i]!;
    if (source === null) continue;
    const from = source.offsets[indexes[i]!]! - offsets[i]!;
    const end = offsets[i + 1]!;
    // The strings are short, so a loop is faster than `set`.
    for (let to = offsets[i]!; to < end; to++) bytes[to] = source.bytes[from + to]!;
  }
  return { bytes, offsets };
}

/** Packs the JSON string literals of the strings with these indices. */
export function packLiterals(
  { bytes, offsets }: PackedStrings,
  some: readonly number[],
): PackedStrings {
  const literalOffsets = new Int32Array(some.length + 1);
  /** The literals of the strings that contain characters to escape, by the index in `some`. */
  const escapedLiterals = new Map<number, Uint8Array>();
  for (let i = 0; i < some.length; i++) {
    const [from, to] = [offsets[some[i]!]!, offsets[some[i]! + 1]!];
    let at = from;
    while (at < to && isPlainByte(bytes[at]!)) at++;
    let size = to - from + 2;
    if (at < to) {
      const literal = Buffer.from(JSON.stringify(stringAt({ bytes, offsets }, some[i]!)));
      escapedLiterals.set(i, literal);
      size = literal.length;
    }
    literalOffsets[i + 1] = literalOffsets[i]! + size;
  }
  const out = new Uint8Array(literalOffsets[some.length]!);
  for (let i = 0; i < some.length; i++) {
    const literal = escapedLiterals.size === 0 ? undefined : escapedLiterals.get(i);
    let end = literalOffsets[i]!;
    if (literal !== undefined) {
      out.set(literal, end);
      continue;
    }
    const to = offsets[some[i]! + 1]!;
    out[end++] = quote;
    for (let from = offsets[some[i]!]!; from < to; from++) out[end++] = bytes[from]!;
    out[end] = quote;
  }
  return { bytes: out, offsets: literalOffsets };
}

/**
 * Returns the position of the first byte from `at` on that cannot stand unescaped in a JSON string, such as the closing quote; the length
 * of `bytes` if there is none.
 */
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
export function byteLengthAt({ offsets }: PackedStrings, at: number): number {
  return offsets[at + 1]! - offsets[at]!;
}

const utf8Encoder = new TextEncoder();
