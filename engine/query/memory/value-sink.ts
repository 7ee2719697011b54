import { acquireBuffer, releaseBuffer } from '../../core/buffers.js';
import type { DecompressedPage } from '../../parquet/read-pages.js';
import { readConstant, readHybrid } from '../../parquet/decode-hybrid.js';
import type { ColumnValues } from './match/column.js';

/** Collects the values of a column while its pages are decoded. */
export interface ValueSink {
  /**
   * Sets the dictionary of the pages that follow. Returns false if the sink cannot hold the entries; the column then needs another sink.
   */
  addDictionary(page: DecompressedPage): boolean;
  /** Decodes the `count` values that follow the levels of a page, and stores them from index `to` on. */
  readPage(page: DecompressedPage, count: number, to: number): void;
  /** Moves the `count` values that begin at index `from` to those of the `slots` indices from `from` on at which `present` is 1. */
  insertNulls(from: number, count: number, slots: number, present: Uint8Array): void;
  /** Returns all values and their size in memory, in bytes. */
  finish(): { readonly values: ColumnValues; readonly bytes: number };
  /** Releases memory that the result does not use. The sink must not be used afterwards. */
  release?(): void;
}

/** Acquires an array (`buffers.ts`) whose first `length` elements are 0, so that rows without a value have a valid index. */
export function acquireZeros(length: number): Int32Array {
  return acquireBuffer(Int32Array, length).fill(0, 0, length);
}

/**
 * Decodes the dictionary indices of a page, all of which must be below `entryCount`. The caller releases the array (`buffers.ts`). Throws
 * `RangeError`.
 */
export function dictionaryIndices(
  { body }: DecompressedPage,
  count: number,
  entryCount: number,
): Int32Array {
  const indices = acquireBuffer(Int32Array, count);
  readHybrid(body, body.readByte(), count, indices);
  let beyond = 0;
  for (let i = 0; i < count; i++) if (indices[i]! >>> 0 >= entryCount) beyond = 1;
  if (beyond === 0) return indices;
  releaseBuffer(indices);
  throw entryOutOfRangeError(entryCount);
}

/**
 * Decodes the dictionary indices of a page, and writes the entry for each index to `out`, from index `to` on. Throws `RangeError` for an
 * index without an entry.
 */
export function readEntries(
  { body }: DecompressedPage,
  count: number,
  entries: Int32Array,
  out: Int32Array,
  to: number,
): void {
  if (count === 0) return;
  const width = body.readByte();
  const end = to + count;
  let greatestIndex = readConstant(body, width, count);
  if (greatestIndex !== undefined) out.fill(entries[greatestIndex]!, to, end);
  else {
    readHybrid(body, width, count, out, to);
    greatestIndex = 0;
    for (let i = to; i < end; i++) {
      const index = out[i]! >>> 0;
      if (index > greatestIndex) greatestIndex = index;
      out[i] = entries[index]!;
    }
  }
  if (greatestIndex >>> 0 >= entries.length) throw entryOutOfRangeError(entries.length);
}

function entryOutOfRangeError(entries: number): RangeError {
  return new RangeError(`a value is not among the ${entries} entries of the dictionary`);
}

/** Implements `ValueSink.insertNulls` for an Int32Array. Runs backwards, so that no value is overwritten before it is moved. */
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
