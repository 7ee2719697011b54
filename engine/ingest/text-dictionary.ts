import { isoMicros } from './iso-date.js';

/** Different texts in UTF-8, of which columns store many copies. */
export interface TextDictionary {
  /** The texts one after the other, with spare bytes behind them, so that whole words can be copied. */
  readonly bytes: DataView;
  /** Text i begins at `offsets[i]` and ends at `offsets[i + 1]`. */
  readonly offsets: Int32Array;
  /** Which entries are null; null if none is. */
  readonly nulls: Uint8Array | null;
}

/** The bytes of a word, which is what `Utf8Builder.appendDictionary` copies at once. */
export const wordBytes = 4;

/** Makes a dictionary of texts; those that are missing are null. */
export function textDictionary(texts: readonly (string | null | undefined)[]): TextDictionary {
  const offsets = new Int32Array(texts.length + 1);
  let nulls: Uint8Array | null = null;
  let most = 0;
  // A code unit takes three bytes at most.
  for (const text of texts) most += 3 * (text?.length ?? 0);
  const bytes = new Uint8Array(most + wordBytes);
  let end = 0;
  for (const [i, text] of texts.entries()) {
    if (text === null || text === undefined) (nulls ??= new Uint8Array(texts.length))[i] = 1;
    else end += encoder.encodeInto(text, bytes.subarray(end)).written;
    offsets[i + 1] = end;
  }
  return { bytes: new DataView(bytes.buffer), offsets, nulls };
}

/** The size of the longest text, bytes. */
export function longestText({ offsets }: TextDictionary): number {
  let longest = 0;
  for (let i = 1; i < offsets.length; i++)
    longest = Math.max(longest, offsets[i]! - offsets[i - 1]!);
  return longest;
}

/** Whether one of the texts is no date. */
export function hasPlainText({ bytes, offsets, nulls }: TextDictionary): boolean {
  const all = new Uint8Array(bytes.buffer);
  for (let i = 0; i + 1 < offsets.length; i++)
    if (nulls?.[i] !== 1 && isoMicros(all, offsets[i]!, offsets[i + 1]!) === undefined) return true;
  return false;
}

const encoder = new TextEncoder();
