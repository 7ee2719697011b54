import { acquire, release } from '../../core/buffers.js';
import type { DecompressedPage } from '../../parquet/read-pages.js';
import { readHybrid } from '../../parquet/decode-hybrid.js';
import type { ColumnValues } from './column.js';

/** Where the values of a column are put while its pages are read. */
export interface ValueSink {
  /** Takes the dictionary of the next pages; false if there is no room for it, and the column has to be loaded otherwise. */
  dictionary(page: DecompressedPage): boolean;
  /** Puts the `count` values behind the levels of a page at `to` and on. */
  read(page: DecompressedPage, count: number, to: number): void;
  /** Moves the `count` values at `from` apart: to the first `slots` places from there on whose `present` is 1. */
  spread(from: number, count: number, slots: number, present: Uint8Array): void;
  /** All values, and how much memory they take. */
  finish(): { readonly values: ColumnValues; readonly bytes: number };
}

/** The numbers of the dictionary's entries in a page, all of them below `entries`; to be given back (buffers.ts). */
export function dictionaryIndices(
  { body }: DecompressedPage,
  count: number,
  entries: number,
): Int32Array {
  const indices = acquire(Int32Array, count);
  readHybrid(body, body.byte(), count, indices);
  let beyond = 0;
  for (let i = 0; i < count; i++) if (indices[i]! >>> 0 >= entries) beyond = 1;
  if (beyond === 0) return indices;
  release(indices);
  throw new RangeError(`a value is not among the ${entries} entries of the dictionary`);
}

/** `ValueSink.spread` of words. From behind, so that nothing is lost. */
export function spreadWords(
  words: Int32Array,
  from: number,
  count: number,
  slots: number,
  present: Uint8Array,
): void {
  let value = from + count;
  for (let slot = from + slots - 1; slot >= from; slot--) {
    if (present[slot] === 1) words[slot] = words[--value]!;
  }
}
