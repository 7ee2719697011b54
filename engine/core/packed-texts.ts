import { isAscii } from 'node:buffer';

/** Many texts as plain data that is quickly sent from thread to thread. */
export interface PackedTexts {
  /** UTF-8. */
  readonly bytes: Uint8Array;
  /** Where each text begins, and where the last one ends. */
  readonly offsets: Int32Array;
}

/** Joins texts, which have no lone surrogates. */
export function packTexts(texts: readonly string[]): PackedTexts {
  const all = texts.join('');
  const bytes = encoder.encode(all);
  const isPlain = bytes.length === all.length;
  const offsets = new Int32Array(texts.length + 1);
  for (let i = 0; i < texts.length; i++) {
    const text = texts[i]!;
    offsets[i + 1] = offsets[i]! + (isPlain ? text.length : Buffer.byteLength(text));
  }
  return { bytes, offsets };
}

/** The texts that were joined. */
export function unpackTexts({ bytes, offsets }: PackedTexts): string[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  // One text of all is cut much faster than each is decoded.
  const all = isAscii(buffer) ? buffer.toString('latin1') : null;
  const texts: string[] = [];
  for (let i = 0; i + 1 < offsets.length; i++) {
    const [from, to] = [offsets[i]!, offsets[i + 1]!];
    texts.push(all === null ? buffer.toString('utf8', from, to) : all.slice(from, to));
  }
  return texts;
}

/** Some of the texts that were joined, joined. */
export function gatherTexts(
  parts: readonly { readonly texts: PackedTexts; readonly at: number }[],
): PackedTexts {
  const offsets = new Int32Array(parts.length + 1);
  for (let i = 0; i < parts.length; i++) {
    const { texts, at } = parts[i]!;
    offsets[i + 1] = offsets[i]! + texts.offsets[at + 1]! - texts.offsets[at]!;
  }
  const bytes = new Uint8Array(offsets[parts.length]!);
  for (let i = 0; i < parts.length; i++) {
    const { texts, at } = parts[i]!;
    const end = texts.offsets[at + 1]!;
    // Texts are short: a loop is faster than `set`.
    for (let from = texts.offsets[at]!, to = offsets[i]!; from < end; from++, to++)
      bytes[to] = texts.bytes[from]!;
  }
  return { bytes, offsets };
}

/** The length of a text in bytes. */
export function lengthAt({ offsets }: PackedTexts, at: number): number {
  return offsets[at + 1]! - offsets[at]!;
}

const encoder = new TextEncoder();
