import { acquireBuffer, growBuffer, releaseBuffer } from '../core/buffers.js';
import type { ByteSource } from './byte-source.js';
import { pickDeltaDoubles, readDeltaInts } from './decode-delta.js';
import { readValues, valueCount, type DecodedValues } from './decode-values.js';
import { encodingId } from './page-encodings.js';
import { HybridCursor } from './hybrid-cursor.js';
import type { DecompressedPage } from './read-pages.js';
import { physicalType } from './parquet-schema.js';

/**
 * Collects selected values from the pages of one leaf. The other values are skipped without decoding where the encoding allows it. Call
 * `release` after use.
 */
export class ValuePicker {
  readonly #physical: number;
  /** Depending on the type: the values, the halves of 64-bit values, or the end offsets of strings. */
  #words: Int32Array;
  #bytes = acquireBuffer(Uint8Array, 1 << 12);
  #dictionary: DecodedValues | undefined;
  /** Number of used entries of `#words`, and of used bytes of `#bytes`. */
  #usedWords = 0;
  #usedBytes = 0;

  /** `physical` is one of `physicalType`; `most` is approximately the number of values that will be picked. */
  constructor(physical: number, most: number) {
    this.#physical = physical;
    this.#words = acquireBuffer(Int32Array, 2 * most);
  }

  /** Sets the dictionary of the pages that follow. */
  setDictionary({ body, encoding, count }: DecompressedPage): void {
    this.#dictionary = readValues(body, this.#physical, encoding, count, undefined);
  }

  /**
   * Adds the values of one page at the first `picked` entries of `picks`, which are ascending positions; the page has `count` values.
   * Throws a `RangeError` if the page cannot be decoded.
   */
  pick(page: DecompressedPage, count: number, picks: Int32Array, picked: number): void {
    if (picked === 0) return;
    this.#reserveWords(picked);
    const { body } = page;
    switch (page.encoding) {
      case encodingId.plain:
        return this.#plain(body, count, picks, picked);
      case encodingId.deltaByteArray:
        return this.#deltaStrings(body, count, picks, picked);
      case encodingId.rle:
        body.readLength();
        return this.#hybrid(body, 1, count, picks, picked);
      case encodingId.deltaBinaryPacked:
        return this.#deltas(body, count, picks, picked);
      case encodingId.rleDictionary: {
        const first = this.#usedWords;
        this.pickIndices(page, count, picks, picked);
        return this.#entries(first);
      }
      default:
        throw new RangeError(`encoding ${page.encoding} is not supported`);
    }
  }

  /** Adds the dictionary indices of one page at the first `picked` entries of `picks`; `finish` returns them if `physical` is `int32`. */
  pickIndices({ body }: DecompressedPage, count: number, picks: Int32Array, picked: number): void {
    if (picked === 0) return;
    this.#reserveWords(picked);
    this.#hybrid(body, body.readByte(), count, picks, picked);
  }

  /** Returns copies of the picked values. */
  finish(): DecodedValues {
    const words = this.#words.slice(0, this.#usedWords);
    switch (this.#physical) {
      case physicalType.boolean:
        return { kind: 'booleans', booleans: Uint8Array.from(words) };
      case physicalType.int32:
      case physicalType.float:
        return { kind: 'int32s', int32s: words };
      case physicalType.byteArray: {
        const offsets = new Int32Array(words.length + 1);
        offsets.set(words, 1);
        return { kind: 'strings', bytes: this.#bytes.slice(0, this.#usedBytes), offsets };
      }
      default:
        return { kind: 'int64s', int32s: words };
    }
  }

  release(): void {
    releaseBuffer(this.#words);
    releaseBuffer(this.#bytes);
  }

  #plain(source: ByteSource, count: number, picks: Int32Array, picked: number): void {
    const { view, readOffset } = source;
    const words = this.#words;
    let to = this.#usedWords;
    switch (this.#physical) {
      case physicalType.boolean:
        source.skip(Math.ceil(count / 8));
        for (let i = 0; i < picked; i++) {
          const pick = picks[i]!;
          words[to++] = (view.getUint8(readOffset + (pick >> 3)) >> (pick & 7)) & 1;
        }
        break;
      case physicalType.int32:
      case physicalType.float:
        source.skip(4 * count);
        for (let i = 0; i < picked; i++)
          words[to++] = view.getInt32(readOffset + 4 * picks[i]!, true);
        break;
      case physicalType.byteArray:
        return this.#plainStrings(source, picks, picked);
      default:
        source.skip(8 * count);
        for (let i = 0; i < picked; i++) {
          words[to++] = view.getInt32(readOffset + 8 * picks[i]!, true);
          words[to++] = view.getInt32(readOffset + 8 * picks[i]! + 4, true);
        }
    }
    this.#usedWords = to;
  }

  /** Picks strings in the encoding PLAIN. A length precedes each string, so the strings before a picked one must be skipped one by one. */
  #plainStrings(
    { bytes, view, readOffset: at }: ByteSource,
    picks: Int32Array,
    picked: number,
  ): void {
    let string = 0;
    for (let i = 0; i < picked; i++) {
      for (; string < picks[i]!; string++) at += 4 + view.getUint32(at, true);
      const size = view.getUint32(at, true);
      this.#append(bytes, at + 4, size);
    }
  }

  /**
   * Reads DELTA_BYTE_ARRAY (Encodings.md, "Delta Strings"). A string is built backwards, from its own suffix and those of earlier strings,
   * until it is complete or the previously picked string is reached, which begins with the prefix that is still missing.
   */
  #deltaStrings(source: ByteSource, count: number, picks: Int32Array, picked: number): void {
    const prefixLengths = acquireBuffer(Int32Array, count);
    const ends = acquireBuffer(Int32Array, count);
    try {
      readDeltaInts(source, count, prefixLengths, 0);
      readDeltaInts(source, count, ends, 0);
      const { bytes, readOffset: first } = source;
      const last = picks[picked - 1]!;
      let [at, size] = [first, 0];
      for (let i = 0; i <= last; i++) {
        const prefixLength = prefixLengths[i]!;
        const suffixLength = ends[i]!;
        if (prefixLength < 0 || prefixLength > size || suffixLength < 0)
          throw new RangeError(`a string shares ${prefixLength} bytes with the one before, which has ${size}`); // prettier-ignore
        size = prefixLength + suffixLength;
        ends[i] = at += suffixLength;
      }
      if (at > bytes.length) throw new RangeError('strings end after their page');
      let before = -1;
      let beforeAt = this.#usedBytes;
      for (let i = 0; i < picked; i++) {
        const pick = picks[i]!;
        const start = pick === 0 ? first : ends[pick - 1]!;
        const ownStart = this.#usedBytes;
        let missingBytes = prefixLengths[pick]! + ends[pick]! - start;
        const to = this.#reserve(missingBytes);
        for (let row = pick; missingBytes > 0 && row > before; row--) {
          const prefixLength = prefixLengths[row]!;
          if (prefixLength >= missingBytes) continue;
          const from = (row === 0 ? first : ends[row - 1]!) - prefixLength;
          for (let k = prefixLength; k < missingBytes; k++) to[ownStart + k] = bytes[from + k]!;
          missingBytes = prefixLength;
        }
        for (let k = 0; k < missingBytes; k++) to[ownStart + k] = to[beforeAt + k]!;
        before = pick;
        beforeAt = ownStart;
      }
    } finally {
      releaseBuffer(prefixLengths);
      releaseBuffer(ends);
    }
  }

  #hybrid(
    source: ByteSource,
    width: number,
    count: number,
    picks: Int32Array,
    picked: number,
  ): void {
    const cursor = new HybridCursor(source, width, count);
    for (let i = 0; i < picked; i++) {
      cursor.index = picks[i]!;
      this.#words[this.#usedWords++] = cursor.peek();
    }
  }

  #deltas(source: ByteSource, count: number, picks: Int32Array, picked: number): void {
    const values = acquireBuffer(Float64Array, picked);
    try {
      pickDeltaDoubles(source, count, picks, picked, values);
      for (let i = 0; i < picked; i++) {
        const value = values[i]!;
        this.#words[this.#usedWords++] = value; // stores the value modulo 2^32
        if (this.#physical === physicalType.int32) continue;
        this.#words[this.#usedWords++] = Math.floor(value / 2 ** 32);
      }
    } finally {
      releaseBuffer(values);
    }
  }

  /** Replaces the dictionary indices, which are the words from `first` on, by the entries. */
  #entries(first: number): void {
    const entries = this.#dictionary;
    if (entries === undefined) throw new RangeError('a page needs a dictionary');
    if (entries.kind === 'booleans') throw new RangeError('booleans have no dictionary');
    const indices = this.#words.slice(first, this.#usedWords);
    const most = valueCount(entries);
    this.#usedWords = first;
    for (const index of indices) {
      if (index < 0 || index >= most) throw new RangeError(`the dictionary has no entry ${index}`);
      if (entries.kind === 'strings') {
        const from = entries.offsets[index]!;
        this.#append(entries.bytes, from, entries.offsets[index + 1]! - from);
      } else if (entries.kind === 'int32s') this.#words[this.#usedWords++] = entries.int32s[index]!;
      else {
        this.#words[this.#usedWords++] = entries.int32s[2 * index]!;
        this.#words[this.#usedWords++] = entries.int32s[2 * index + 1]!;
      }
    }
  }

  /** Makes room in `#words` for `picked` more values of any type. */
  #reserveWords(picked: number): void {
    const least = this.#usedWords + 2 * picked;
    if (least > this.#words.length) this.#words = growBuffer(this.#words, least);
  }

  #append(from: Uint8Array, at: number, size: number): void {
    if (at + size > from.length) throw new RangeError('strings end after their page');
    const end = this.#usedBytes;
    const to = this.#reserve(size);
    // Creating a view for a short string would take longer than copying it byte by byte.
    if (size > 64) to.set(from.subarray(at, at + size), end);
    else for (let i = 0; i < size; i++) to[end + i] = from[at + i]!;
  }

  /** Makes room for a string of `size` bytes at the end of `#bytes`, and adds its end to `#words`. The caller writes the bytes. */
  #reserve(size: number): Uint8Array {
    this.#usedBytes += size;
    if (this.#usedBytes > 0x7fff_ffff)
      throw new RangeError('more than 2 GB of strings in one column');
    if (this.#usedBytes > this.#bytes.length)
      this.#bytes = growBuffer(this.#bytes, this.#usedBytes);
    this.#words[this.#usedWords++] = this.#usedBytes;
    return this.#bytes;
  }
}
