import { release } from '../../core/buffers.js';
import type { DecompressedPage } from '../../parquet/read-pages.js';
import { encodingId } from '../../parquet/encoding.js';
import type { Codes, ColumnValues } from './column.js';
import { dictionaryIndices, spreadWords, type ValueSink } from './value-sink.js';
import type { GrowingVocabulary } from './vocabulary.js';

/** Different codes are few if each is used so often. */
const fewShare = 16;

/** Texts of files that have a dictionary of them, as numbers of the vocabulary. */
export class CodeSink implements ValueSink {
  /** The narrowest array is known only at the end, when all dictionaries have been seen. */
  readonly #codes: Int32Array;
  readonly #vocabulary: GrowingVocabulary;
  /** For each entry of the dictionary at hand its number in the vocabulary. */
  #numbers = new Int32Array(0);
  #greatest = 0;
  readonly #different = new Set<number>();

  constructor(places: number, vocabulary: GrowingVocabulary) {
    this.#codes = new Int32Array(places);
    this.#vocabulary = vocabulary;
  }

  /** False if the vocabulary has no room for all entries. */
  dictionary({ body, count }: DecompressedPage): boolean {
    const numbers = new Int32Array(count);
    const { bytes, view } = body;
    for (let i = 0; i < count; i++) {
      const size = body.length();
      const { at } = body;
      body.skip(size);
      const number = this.#vocabulary.numberOf(bytes, view, at, at + size);
      if (number < 0) return false;
      if (number > this.#greatest) this.#greatest = number;
      numbers[i] = number;
      this.#different.add(number);
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
    const codes = this.#codes;
    const indices = dictionaryIndices(page, count, numbers.length);
    for (let i = 0; i < count; i++) codes[to + i] = numbers[indices[i]!]!;
    release(indices);
  }

  spread(from: number, count: number, slots: number, present: Uint8Array): void {
    spreadWords(this.#codes, from, count, slots, present);
  }

  finish(): { readonly values: ColumnValues; readonly bytes: number } {
    const codes = narrowed(this.#codes, this.#greatest);
    const isFew = this.#different.size * fewShare <= codes.length;
    const different = isFew ? Int32Array.from(this.#different) : undefined;
    return {
      values: { kind: 'codes', codes, vocabulary: this.#vocabulary, different },
      bytes: codes.byteLength + (different?.byteLength ?? 0),
    };
  }
}

function narrowed(codes: Int32Array, greatest: number): Codes['codes'] {
  if (greatest < 1 << 8) return new Uint8Array(codes);
  return greatest < 1 << 16 ? new Uint16Array(codes) : new Uint32Array(codes.buffer);
}
