import { dataViewOf, releaseBuffer } from '../../core/buffers.js';
import { encodingId } from '../../parquet/page-encodings.js';
import type { DecompressedPage } from '../../parquet/read-pages.js';
import type { ColumnValues } from './match/column.js';
import { numberValues } from './number-sinks.js';
import { dictionaryIndices, type ValueSink } from './value-sink.js';

/** Maximum number of distinct doubles: indices have at most 16 bits. */
const maxEntries = 1 << 16;
/** If more than one in this many numbers is distinct, working per distinct number takes about as long as working per number. */
const minMeanOccurrences = 32;

/** Collects the doubles of a dictionary-encoded column as indices of the distinct doubles. */
export class NumberDictionarySink implements ValueSink {
  /** The collected indices. They are copied to an array of bytes at the end if there are at most 256 entries. */
  readonly #indices: Uint16Array;
  readonly #maxEntries: number;
  readonly #entries: number[] = [];
  readonly #indexOf = new Map<number, number>();
  /** Maps an index of the current dictionary page to an index of the column's distinct numbers. */
  #mapping = new Uint16Array(0);

  constructor(capacity: number) {
    this.#indices = new Uint16Array(capacity);
    this.#maxEntries = Math.min(maxEntries, capacity / minMeanOccurrences);
  }

  /** Adds the entries of a dictionary page; returns false if there are too many distinct numbers, or if one is -0. */
  addDictionary({ body, count }: DecompressedPage): boolean {
    const bytes = body.readBytes(8 * count);
    const view = dataViewOf(bytes);
    const mapping = new Uint16Array(count);
    for (let i = 0; i < count; i++) {
      const number = view.getFloat64(8 * i, true);
      // A `Map` does not distinguish 0 and -0, so a column with -0 needs another sink.
      if (Object.is(number, -0)) return false;
      let index = this.#indexOf.get(number);
      if (index === undefined) {
        index = this.#entries.length;
        if (index >= this.#maxEntries) return false;
        this.#entries.push(number);
        this.#indexOf.set(number, index);
      }
      mapping[i] = index;
    }
    this.#mapping = mapping;
    return true;
  }

  readPage(page: DecompressedPage, count: number, to: number): void {
    if (count === 0) return;
    if (page.encoding !== encodingId.rleDictionary)
      throw new RangeError(`encoding ${page.encoding} behind a dictionary`);
    const mapping = this.#mapping;
    const indices = this.#indices;
    const pageIndices = dictionaryIndices(page, count, mapping.length);
    for (let i = 0; i < count; i++) indices[to + i] = mapping[pageIndices[i]!]!;
    releaseBuffer(pageIndices);
  }

  insertNulls(from: number, count: number, slots: number, present: Uint8Array): void {
    const indices = this.#indices;
    let value = from + count;
    for (let slot = from + slots - 1; slot >= from; slot--) {
      if (present[slot] === 1) indices[slot] = indices[--value]!;
    }
  }

  finish(): { readonly values: ColumnValues; readonly bytes: number } {
    const indices = this.#entries.length > 256 ? this.#indices : new Uint8Array(this.#indices);
    const entries = numberValues(Float64Array.from(this.#entries));
    return {
      values: { kind: 'number-dictionary', indices, entries },
      bytes: indices.byteLength + entries.numbers.byteLength,
    };
  }
}
