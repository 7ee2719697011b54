import { release } from '../../core/buffers.js';
import type { DecompressedPage } from '../../parquet/read-pages.js';
import { encodingId } from '../../parquet/encoding.js';
import type { DictionaryValues, ColumnValues } from './column.js';
import { dictionaryIndices, spreadWords, type ValueSink } from './value-sink.js';
import type { GrowingDictionary } from './growing-dictionary.js';

/** Different indices are few if each is used so often. */
const fewShare = 16;

/** Strings of files that have a dictionary of them, as numbers of the dictionary. */
export class DictionarySink implements ValueSink {
  /** The narrowest array is known only at the end, when all dictionaries have been seen. */
  readonly #indices: Int32Array;
  readonly #dictionary: GrowingDictionary;
  /** For each entry of the dictionary at hand its number in the dictionary. */
  #numbers = new Int32Array(0);
  #greatest = 0;
  readonly #distinct = new Set<number>();

  constructor(places: number, dictionary: GrowingDictionary) {
    this.#indices = new Int32Array(places);
    this.#dictionary = dictionary;
  }

  /** False if the dictionary has no room for all entries. */
  dictionary({ body, count }: DecompressedPage): boolean {
    const numbers = new Int32Array(count);
    const { bytes, view } = body;
    for (let i = 0; i < count; i++) {
      const size = body.length();
      const { at } = body;
      body.skip(size);
      const number = this.#dictionary.numberOf(bytes, view, at, at + size);
      if (number < 0) return false;
      if (number > this.#greatest) this.#greatest = number;
      numbers[i] = number;
      this.#distinct.add(number);
    }
    this.#numbers = numbers;
    return true;
  }

  read(page: DecompressedPage, count: number, to: number): void {
    if (count === 0) return;
    if (page.encoding !== encodingId.rleDictionary) {
      throw new RangeError(`encoding ${page.encoding} behind a dictionary`);
    }
    const numbers = this.#numbers;
    const indices = this.#indices;
    const pageIndices = dictionaryIndices(page, count, numbers.length);
    for (let i = 0; i < count; i++) indices[to + i] = numbers[pageIndices[i]!]!;
    release(pageIndices);
  }

  spread(from: number, count: number, slots: number, present: Uint8Array): void {
    spreadWords(this.#indices, from, count, slots, present);
  }

  finish(): { readonly values: ColumnValues; readonly bytes: number } {
    const indices = narrowed(this.#indices, this.#greatest);
    const isFew = this.#distinct.size * fewShare <= indices.length;
    const distinct = isFew ? Int32Array.from(this.#distinct) : undefined;
    return {
      values: { kind: 'dictionary', indices, dictionary: this.#dictionary, distinct },
      bytes: indices.byteLength + (distinct?.byteLength ?? 0),
    };
  }
}

function narrowed(indices: Int32Array, greatest: number): DictionaryValues['indices'] {
  if (greatest < 1 << 8) return new Uint8Array(indices);
  return greatest < 1 << 16 ? new Uint16Array(indices) : new Uint32Array(indices.buffer);
}
