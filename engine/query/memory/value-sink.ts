import { acquire, release } from '../../core/buffers.js';
import type { DecompressedPage } from '../../parquet/read-pages.js';
import { readHybrid } from '../../parquet/decode-hybrid.js';
import type { ColumnValues } from './column.js';

/** Collects the values of a column while its pages are decoded. */
export interface ValueSink {
  /** Takes the dictionary of the next pages. Returns false if it cannot hold the entries; the column then needs another sink. */
  dictionary(page: DecompressedPage): boolean;
  /** Decodes the `count` values after the levels of a page to index `to` and on. */
  read(page: DecompressedPage, count: number, to: number): void;
  /** Moves the `count` values from index `from` to those of the next `slots` indices at which `present` is 1. */
  spread(from: number, count: number, slots: number, present: Uint8Array): void;
  /** Returns all values and their size in memory, in bytes. */
  finish(): { readonly values: ColumnValues; readonly bytes: number };
}

/**
 * Decodes the dictionary indices of a page, all below `entries`. The caller releases the array (`buffers.ts`). Throws
 * `RangeError`.
 */
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

/** `ValueSink.spread` for an Int32Array; runs backwards, so that no value is overwritten before it is moved. */
export function insertNullGaps(
  values: Int32Array,
  from: number,
  count: number,
  slots: number,
  present: Uint8Array,
): void {
  let next = from + count;
  for (let slot = from + slots - 1; slot >= from; slot--) {
    if (present[slot] === 1) values[slot] = values[--next]!;
  }
}
