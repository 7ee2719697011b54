import { acquire, release } from '../../core/buffers.js';
import type { DecompressedPage } from '../../parquet/read-pages.js';
import { readConstant, readHybrid } from '../../parquet/decode-hybrid.js';
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
  /** Gives memory back that the result does not use. Nothing is called afterwards. */
  release?(): void;
}

/** Acquires an array (`buffers.ts`) whose first `length` elements are 0, so that rows without a value have one that occurs. */
export function acquireZeros(length: number): Int32Array {
  return acquire(Int32Array, length).fill(0, 0, length);
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
  throw outside(entries);
}

/**
 * Decodes the dictionary indices of a page, and writes what `entries` has at each of them to `out[to]` and following. Throws
 * `RangeError` for an index that it lacks.
 */
export function readEntries(
  { body }: DecompressedPage,
  count: number,
  entries: Int32Array,
  out: Int32Array,
  to: number,
): void {
  if (count === 0) return;
  const width = body.byte();
  const end = to + count;
  let most = readConstant(body, width, count);
  if (most !== undefined) out.fill(entries[most]!, to, end);
  else {
    readHybrid(body, width, count, out, to);
    most = 0;
    for (let i = to; i < end; i++) {
      const index = out[i]! >>> 0;
      if (index > most) most = index;
      out[i] = entries[index]!;
    }
  }
  if (most >>> 0 >= entries.length) throw outside(entries.length);
}

function outside(entries: number): RangeError {
  return new RangeError(`a value is not among the ${entries} entries of the dictionary`);
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
