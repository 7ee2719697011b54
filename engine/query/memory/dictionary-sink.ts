import { releaseBuffer } from '../../core/buffers.js';
import type { DecompressedPage } from '../../parquet/read-pages.js';
import { encodingId } from '../../parquet/page-encodings.js';
import type { DictionaryValues, ColumnValues } from './match/column.js';
import { acquireZeros, insertNullGaps, readEntries, type ValueSink } from './value-sink.js';
import type { GrowingDictionary } from './growing-dictionary.js';

/** The distinct indices count as few if each occurs at least this often on average. */
const minMeanOccurrences = 16;

/**
 * Collects the strings of a dictionary-encoded column as indices of the field's dictionary, which all segments of the dataset share (below:
 * the dataset's dictionary).
 */
export class DictionarySink implements ValueSink {
  /** The collected indices. They are copied to the narrowest possible array at the end, when the greatest index is known. */
  readonly #indices: Int32Array;
  readonly #capacity: number;
  readonly #dictionary: GrowingDictionary;
  /** Maps an index of the current page dictionary to an index of the dataset's dictionary. */
  #mapping = new Int32Array(0);
  #greatest = 0;
  /** The distinct indices, in the first `#distinctCount` elements. */
  #distinctIndices = new Int32Array(0);
  #distinctCount = 0;
  /** For each index of the dataset's dictionary, 1 if it is among the distinct ones. */
  #isSeen = new Uint8Array(0);

  constructor(capacity: number, dictionary: GrowingDictionary) {
    this.#indices = acquireZeros(capacity);
    this.#capacity = capacity;
    this.#dictionary = dictionary;
  }

  /** Adds the entries of a page dictionary to the dataset's dictionary; returns false if they do not fit. */
  addDictionary({ body, count }: DecompressedPage): boolean {
    const mapping = new Int32Array(count);
    const { bytes, view } = body;
    this.#makeRoom(count);
    for (let i = 0; i < count; i++) {
      const size = body.readLength();
      const { readOffset } = body;
      body.skip(size);
      const index = this.#dictionary.indexOrAdd(bytes, view, readOffset, readOffset + size);
      if (index < 0) return false;
      if (index > this.#greatest) this.#greatest = index;
      mapping[i] = index;
      if (this.#isSeen[index] === 1) continue;
      this.#isSeen[index] = 1;
      this.#distinctIndices[this.#distinctCount++] = index;
    }
    this.#mapping = mapping;
    return true;
  }

  #makeRoom(count: number): void {
    const entryCount = this.#dictionary.strings.length + count;
    if (entryCount > this.#isSeen.length) {
      const isSeen = new Uint8Array(Math.max(entryCount, 2 * this.#isSeen.length));
      isSeen.set(this.#isSeen);
      this.#isSeen = isSeen;
    }
    const distinctCount = this.#distinctCount + count;
    if (distinctCount > this.#distinctIndices.length) {
      const distinct = new Int32Array(Math.max(distinctCount, 2 * this.#distinctIndices.length));
      distinct.set(this.#distinctIndices);
      this.#distinctIndices = distinct;
    }
  }

  readPage(page: DecompressedPage, count: number, to: number): void {
    if (count === 0) return;
    if (page.encoding !== encodingId.rleDictionary) {
      throw new RangeError(`encoding ${page.encoding} behind a dictionary`);
    }
    readEntries(page, count, this.#mapping, this.#indices, to);
  }

  insertNulls(from: number, count: number, slots: number, present: Uint8Array): void {
    insertNullGaps(this.#indices, from, count, slots, present);
  }

  /** Returns the indices, in the dataset's dictionary, of all entries of the page dictionaries that were added so far, each once. */
  distinctIndices(): Int32Array {
    return this.#distinctIndices.slice(0, this.#distinctCount);
  }

  finish(): { readonly values: ColumnValues; readonly bytes: number } {
    const indices = narrowIndices(this.#indices.subarray(0, this.#capacity), this.#greatest);
    const isFew = this.#distinctCount * minMeanOccurrences <= indices.length;
    const distinct = isFew ? this.distinctIndices() : undefined;
    return {
      values: { kind: 'dictionary', indices, dictionary: this.#dictionary, distinct },
      bytes: indices.byteLength + (distinct?.byteLength ?? 0),
    };
  }

  release(): void {
    releaseBuffer(this.#indices);
  }
}

function narrowIndices(indices: Int32Array, greatest: number): DictionaryValues['indices'] {
  if (greatest < 1 << 8) return new Uint8Array(indices);
  return greatest < 1 << 16 ? new Uint16Array(indices) : new Uint32Array(indices);
}
