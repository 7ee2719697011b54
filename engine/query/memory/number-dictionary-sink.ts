import { release } from '../../core/buffers.js';
import { encodingId } from '../../parquet/encoding.js';
import type { DecompressedPage } from '../../parquet/read-pages.js';
import type { ColumnValues } from './column.js';
import { numbers } from './number-sinks.js';
import { dictionaryIndices, type ValueSink } from './value-sink.js';

/** Indices have 16 bits at most. */
const maxEntries = 1 << 16;
/** If more than one in this many numbers is distinct, work per distinct number takes about as long as work per number. */
const fewShare = 32;

/** Collects doubles of a file with dictionaries as indices of the distinct ones. */
export class NumberDictionarySink implements ValueSink {
  /** Narrowed at the end, when the number of entries is known. */
  readonly #indices: Uint16Array;
  readonly #most: number;
  readonly #entries: number[] = [];
  readonly #indexOf = new Map<number, number>();
  /** Maps an index of the current page dictionary to an index of the column. */
  #mapping = new Uint16Array(0);

  constructor(capacity: number) {
    this.#indices = new Uint16Array(capacity);
    this.#most = Math.min(maxEntries, capacity / fewShare);
  }

  /** Returns false if the distinct numbers become too many. */
  dictionary({ body, count }: DecompressedPage): boolean {
    const bytes = body.take(8 * count);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const mapping = new Uint16Array(count);
    for (let i = 0; i < count; i++) {
      const number = view.getFloat64(8 * i, true);
      // A Map does not distinguish 0 and -0.
      if (Object.is(number, -0)) return false;
      let index = this.#indexOf.get(number);
      if (index === undefined) {
        index = this.#entries.length;
        if (index >= this.#most) return false;
        this.#entries.push(number);
        this.#indexOf.set(number, index);
      }
      mapping[i] = index;
    }
    this.#mapping = mapping;
    return true;
  }

  read(page: DecompressedPage, count: number, to: number): void {
    if (count === 0) return;
    if (page.encoding !== encodingId.rleDictionary)
      throw new RangeError(`encoding ${page.encoding} behind a dictionary`);
    const mapping = this.#mapping;
    const indices = this.#indices;
    const pageIndices = dictionaryIndices(page, count, mapping.length);
    for (let i = 0; i < count; i++) indices[to + i] = mapping[pageIndices[i]!]!;
    release(pageIndices);
  }

  spread(from: number, count: number, slots: number, present: Uint8Array): void {
    const indices = this.#indices;
    let value = from + count;
    for (let slot = from + slots - 1; slot >= from; slot--) {
      if (present[slot] === 1) indices[slot] = indices[--value]!;
    }
  }

  finish(): { readonly values: ColumnValues; readonly bytes: number } {
    const indices = this.#entries.length > 256 ? this.#indices : new Uint8Array(this.#indices);
    const entries = numbers(Float64Array.from(this.#entries));
    return {
      values: { kind: 'number-dictionary', indices, entries },
      bytes: indices.byteLength + entries.numbers.byteLength,
    };
  }
}
