import { releaseBuffer } from '../../core/buffers.js';
import type { DecompressedPage } from '../../parquet/read-pages.js';
import {
  gatherStrings,
  readDeltaStrings,
  readPlainStrings,
  stringTarget,
  type StringTarget,
} from '../../parquet/decode-strings.js';
import { encodingId } from '../../parquet/page-encodings.js';
import type { ColumnValues } from './match/column.js';
import { dictionaryIndices, type ValueSink } from './value-sink.js';

/** Collects strings as UTF-8. */
export class StringSink implements ValueSink {
  readonly #strings: StringTarget;
  #dictionary = stringTarget(0, 0);
  /** Offset at which the next string begins. */
  #end = 0;

  constructor(capacity: number, textBytes: number) {
    if (textBytes >= 2 ** 32) throw new RangeError(`${textBytes} bytes of text in one segment`);
    this.#strings = stringTarget(capacity, textBytes);
  }

  addDictionary({ body, count }: DecompressedPage): boolean {
    this.#dictionary = stringTarget(count, body.bytes.length - 4 * count);
    readPlainStrings(body, count, this.#dictionary, 0, 0);
    return true;
  }

  readPage(page: DecompressedPage, count: number, to: number): void {
    if (count === 0) return;
    this.#end = this.#read(page, count, to);
  }

  #read(page: DecompressedPage, count: number, to: number): number {
    switch (page.encoding) {
      case encodingId.plain:
        return readPlainStrings(page.body, count, this.#strings, to, this.#end);
      case encodingId.deltaByteArray:
        return readDeltaStrings(page.body, count, () => this.#strings, to, this.#end);
      case encodingId.rleDictionary: {
        const entryCount = this.#dictionary.offsets.length - 1;
        const indices = dictionaryIndices(page, count, entryCount);
        const end = gatherStrings(this.#dictionary, indices, count, this.#strings, to, this.#end);
        releaseBuffer(indices);
        return end;
      }
      default:
        throw new RangeError(`encoding ${page.encoding} is not one of ours`);
    }
  }

  /** Moves the strings to their rows. A row without a value has an empty string, so its offsets are equal. */
  insertNulls(from: number, count: number, slots: number, present: Uint8Array): void {
    const { offsets } = this.#strings;
    let value = from + count;
    for (let slot = from + slots - 1; slot >= from; slot--) {
      offsets[slot + 1] = offsets[value]!;
      value -= present[slot]!;
    }
  }

  finish(): { readonly values: ColumnValues; readonly bytes: number } {
    const { bytes, offsets } = this.#strings;
    if (this.#end !== bytes.length) {
      throw new RangeError(`${this.#end} bytes of text where the footer says ${bytes.length}`);
    }
    return {
      values: { kind: 'strings', bytes: bytes as Buffer, offsets: new Uint32Array(offsets.buffer) },
      bytes: bytes.byteLength + offsets.byteLength,
    };
  }
}
