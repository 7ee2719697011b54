import { isoMicros } from './iso-date.js';

/** Distinct texts in UTF-8, of which columns store many copies. */
export interface TextDictionary {
  /** The texts one after the other, followed by unused bytes, so that whole words can be copied. */
  readonly bytes: DataView;
  /** The offset of the first byte of each text. */
  readonly begins: Int32Array;
  readonly ends: Int32Array;
  /** For each entry, 0 if it is not null, otherwise 1; the array is null if no entry is. */
  readonly nulls: Uint8Array | null;
}

/** The number of bytes that `Utf8Builder.appendFromDictionary` copies at a time. */
export const wordBytes = 4;

/** Creates a dictionary of texts; null and undefined entries are null. */
export function textDictionary(texts: readonly (string | null | undefined)[]): TextDictionary {
  const begins = new Int32Array(texts.length);
  const ends = new Int32Array(texts.length);
  let nulls: Uint8Array | null = null;
  let most = 0;
  // A code unit takes at most three bytes in UTF-8.
  for (const text of texts) most += 3 * (text?.length ?? 0);
  const bytes = new Uint8Array(most + wordBytes);
  let end = 0;
  for (const [i, text] of texts.entries()) {
    begins[i] = end;
    if (text === null || text === undefined) (nulls ??= new Uint8Array(texts.length))[i] = 1;
    else end += encoder.encodeInto(text, bytes.subarray(end)).written;
    ends[i] = end;
  }
  return { bytes: new DataView(bytes.buffer), begins, ends, nulls };
}

/** Returns the size of the longest text in bytes. */
export function longestTextBytes({ begins, ends }: TextDictionary): number {
  let longest = 0;
  for (let i = 0; i < ends.length; i++) longest = Math.max(longest, ends[i]! - begins[i]!);
  return longest;
}

/** Returns whether any text is not a date; null entries are ignored. With `some`, only the entries with these indices are tested. */
export function hasTextOtherThanDate(
  { bytes, begins, ends, nulls }: TextDictionary,
  some: Iterable<number> = begins.keys(),
): boolean {
  const all = new Uint8Array(bytes.buffer);
  for (const i of some)
    if (!nulls?.[i] && isoMicros(all, begins[i]!, ends[i]!) === undefined) return true;
  return false;
}

const encoder = new TextEncoder();
