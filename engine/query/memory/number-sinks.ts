import { acquireBuffer, dataViewOf, releaseBuffer } from '../../core/buffers.js';
import type { DecompressedPage } from '../../parquet/read-pages.js';
import { readDeltaDoubles, readDeltaInts } from '../../parquet/decode-delta.js';
import { readHybrid } from '../../parquet/decode-hybrid.js';
import { encodingId } from '../../parquet/page-encodings.js';
import { physicalType } from '../../parquet/parquet-schema.js';
import type { ColumnValues, Numbers } from './match/column.js';
import type { SegmentColumnChunk } from '../../store/segment-file.js';
import {
  acquireZeros,
  dictionaryIndices,
  insertNullGaps,
  readEntries,
  type ValueSink,
} from './value-sink.js';

/**
 * Returns the sink for numbers of this physical type. Integers get the narrowest of the arrays of bytes, 32-bit integers, doubles and
 * 64-bit integers that holds all of them, according to the footer's statistics.
 */
export function numberSink(
  physical: number,
  chunks: readonly SegmentColumnChunk[],
  capacity: number,
): ValueSink {
  switch (physical) {
    case physicalType.int32:
      return wholeNumberSink(chunks, capacity, 4);
    case physicalType.float:
      return new Int32Sink(capacity, ({ buffer }) => numberValues(new Float32Array(buffer)));
    case physicalType.double:
      return new Int64Sink(capacity, ({ buffer }) => numberValues(new Float64Array(buffer)));
    default:
      if (areRangesWithin(chunks, -(1n << 31n), 1n << 31n))
        return wholeNumberSink(chunks, capacity, 8);
      if (areRangesWithin(chunks, -(1n << 53n), 1n << 53n)) return new DoubleSink(capacity);
      return new Int64Sink(capacity, ({ buffer }) => ({
        kind: 'longs',
        longs: new BigInt64Array(buffer),
      }));
  }
}

/** Returns true if all values, according to the statistics, are at least `from` and below `to`. */
function areRangesWithin(chunks: readonly SegmentColumnChunk[], from: bigint, to: bigint): boolean {
  return chunks.every(({ range, slots, nulls }) =>
    range === undefined ? slots === nulls : range[0] >= from && range[1] < to,
  );
}

/**
 * Returns the sink for integers of at most 32 bits. Depths, counts and qualities mostly fit into bytes, which take a quarter of the memory
 * and of the comparison time of 32-bit integers.
 */
function wholeNumberSink(
  chunks: readonly SegmentColumnChunk[],
  capacity: number,
  storedBytes: 4 | 8,
): ValueSink {
  if (areRangesWithin(chunks, 0n, 256n))
    return new Int32Sink(
      capacity,
      (int32s) => numberValues(new Uint8Array(int32s)),
      storedBytes,
      true,
    );
  return new Int32Sink(capacity, numberValues, storedBytes);
}

export function numberValues(numbers: Numbers['numbers']): Numbers {
  return { kind: 'numbers', numbers, hasNonFinite: !areAllFinite(numbers) };
}

function areAllFinite(numbers: Numbers['numbers']): boolean {
  // There is one loop per kind of array, because a loop that sees two kinds is slower.
  if (numbers instanceof Int32Array || numbers instanceof Uint8Array) return true;
  return numbers instanceof Float64Array ? areFiniteDoubles(numbers) : areFiniteFloats(numbers);
}

function areFiniteDoubles(values: Float64Array): boolean {
  for (let i = 0; i < values.length; i++) if (values[i]! - values[i]! !== 0) return false;
  return true;
}

function areFiniteFloats(values: Float32Array): boolean {
  for (let i = 0; i < values.length; i++) if (values[i]! - values[i]! !== 0) return false;
  return true;
}

/** Collects 32-bit values, or 64-bit integers that fit into 32 bits. */
class Int32Sink implements ValueSink {
  readonly #capacity: number;
  readonly #int32s: Int32Array;
  readonly #finish: (int32s: Int32Array) => Numbers;
  readonly #storedBytes: number;
  readonly #isCopied: boolean;
  #dictionary = new Int32Array(0);

  /** `isCopied` is true if `finish` returns a new array, not the one that it receives. */
  constructor(
    capacity: number,
    finish: (int32s: Int32Array) => Numbers,
    storedBytes: 4 | 8 = 4,
    isCopied = false,
  ) {
    this.#capacity = capacity;
    this.#int32s = isCopied ? acquireZeros(capacity) : new Int32Array(capacity);
    this.#finish = finish;
    this.#storedBytes = storedBytes;
    this.#isCopied = isCopied;
  }

  addDictionary({ body, count }: DecompressedPage): boolean {
    this.#dictionary = new Int32Array(count);
    this.#plain(body.readBytes(count * this.#storedBytes), this.#dictionary, 0);
    return true;
  }

  readPage(page: DecompressedPage, count: number, to: number): void {
    const { body, encoding } = page;
    const int32s = this.#int32s;
    if (encoding === encodingId.plain)
      this.#plain(body.readBytes(count * this.#storedBytes), int32s, to);
    else if (encoding === encodingId.deltaBinaryPacked) readDeltaInts(body, count, int32s, to);
    else {
      requireDictionary(encoding);
      readEntries(page, count, this.#dictionary, int32s, to);
    }
  }

  #plain(bytes: Uint8Array, int32s: Int32Array, to: number): void {
    if (this.#storedBytes === 4) {
      bytesOf(int32s).set(bytes, 4 * to);
      return;
    }
    const view = dataViewOf(bytes);
    for (let at = 0; at < bytes.length; at += 8) int32s[to++] = view.getInt32(at, true);
  }

  insertNulls(from: number, count: number, slots: number, present: Uint8Array): void {
    insertNullGaps(this.#int32s, from, count, slots, present);
  }

  finish(): { readonly values: ColumnValues; readonly bytes: number } {
    const values = this.#finish(this.#int32s.subarray(0, this.#capacity));
    return { values, bytes: values.numbers.byteLength };
  }

  release(): void {
    if (this.#isCopied) releaseBuffer(this.#int32s);
  }
}

/** Collects 64-bit integers that doubles hold exactly. */
class DoubleSink implements ValueSink {
  readonly #doubles: Float64Array;
  #dictionary = new Float64Array(0);

  constructor(capacity: number) {
    this.#doubles = new Float64Array(capacity);
  }

  addDictionary({ body, count }: DecompressedPage): boolean {
    this.#dictionary = new Float64Array(count);
    decodePlainLongs(body.readBytes(8 * count), this.#dictionary, 0);
    return true;
  }

  readPage(page: DecompressedPage, count: number, to: number): void {
    const { body, encoding } = page;
    const doubles = this.#doubles;
    if (encoding === encodingId.plain) decodePlainLongs(body.readBytes(8 * count), doubles, to);
    else if (encoding === encodingId.deltaBinaryPacked) readDeltaDoubles(body, count, doubles, to);
    else {
      requireDictionary(encoding);
      const dictionary = this.#dictionary;
      const indices = dictionaryIndices(page, count, dictionary.length);
      for (let i = 0; i < count; i++) doubles[to + i] = dictionary[indices[i]!]!;
      releaseBuffer(indices);
    }
  }

  insertNulls(from: number, count: number, slots: number, present: Uint8Array): void {
    const doubles = this.#doubles;
    let value = from + count;
    for (let slot = from + slots - 1; slot >= from; slot--) {
      if (present[slot] === 1) doubles[slot] = doubles[--value]!;
    }
  }

  finish(): { readonly values: ColumnValues; readonly bytes: number } {
    const values: Numbers = { kind: 'numbers', numbers: this.#doubles, hasNonFinite: false };
    return { values, bytes: this.#doubles.byteLength };
  }
}

function decodePlainLongs(bytes: Uint8Array, doubles: Float64Array, to: number): void {
  const view = dataViewOf(bytes);
  for (let at = 0; at < bytes.length; at += 8) {
    doubles[to++] = view.getInt32(at + 4, true) * 2 ** 32 + view.getUint32(at, true);
  }
}

/** Collects 64-bit values as pairs of 32-bit words: doubles, and integers that, by the statistics, may not all be exact as doubles. */
class Int64Sink implements ValueSink {
  readonly #int32s: Int32Array;
  readonly #finish: (int32s: Int32Array) => ColumnValues;
  #dictionary = new Int32Array(0);

  constructor(capacity: number, finish: (int32s: Int32Array) => ColumnValues) {
    this.#int32s = new Int32Array(2 * capacity);
    this.#finish = finish;
  }

  addDictionary({ body, count }: DecompressedPage): boolean {
    this.#dictionary = new Int32Array(2 * count);
    bytesOf(this.#dictionary).set(body.readBytes(8 * count));
    return true;
  }

  readPage(page: DecompressedPage, count: number, to: number): void {
    const { body, encoding } = page;
    const int32s = this.#int32s;
    if (encoding === encodingId.plain) bytesOf(int32s).set(body.readBytes(8 * count), 8 * to);
    else if (encoding === encodingId.deltaBinaryPacked) {
      // Strandlake's encoder writes deltas only in column chunks whose values are exact as doubles; other chunks may have larger values.
      const doubles = acquireBuffer(Float64Array, count);
      readDeltaDoubles(body, count, doubles, 0);
      for (let i = 0; i < count; i++) {
        int32s[2 * (to + i)] = doubles[i]!; // stores the value modulo 2^32
        int32s[2 * (to + i) + 1] = Math.floor(doubles[i]! / 2 ** 32);
      }
      releaseBuffer(doubles);
    } else {
      requireDictionary(encoding);
      const dictionary = this.#dictionary;
      const indices = dictionaryIndices(page, count, dictionary.length / 2);
      for (let i = 0, at = 2 * to; i < count; i++, at += 2) {
        const entry = 2 * indices[i]!;
        int32s[at] = dictionary[entry]!;
        int32s[at + 1] = dictionary[entry + 1]!;
      }
      releaseBuffer(indices);
    }
  }

  insertNulls(from: number, count: number, slots: number, present: Uint8Array): void {
    const int32s = this.#int32s;
    let value = from + count;
    for (let slot = from + slots - 1; slot >= from; slot--) {
      if (present[slot] !== 1) continue;
      value--;
      int32s[2 * slot] = int32s[2 * value]!;
      int32s[2 * slot + 1] = int32s[2 * value + 1]!;
    }
  }

  finish(): { readonly values: ColumnValues; readonly bytes: number } {
    return { values: this.#finish(this.#int32s), bytes: this.#int32s.byteLength };
  }
}

/** Collects booleans as bytes, 0 or 1. */
export class FlagSink implements ValueSink {
  readonly #flags: Uint8Array;

  constructor(capacity: number) {
    this.#flags = new Uint8Array(capacity);
  }

  addDictionary(): boolean {
    throw new RangeError('flags have no dictionary');
  }

  readPage({ body, encoding }: DecompressedPage, count: number, to: number): void {
    if (encoding !== encodingId.rle)
      throw new RangeError(`encoding ${encoding} is not one of ours`);
    body.readLength();
    const bits = acquireBuffer(Int32Array, count);
    readHybrid(body, 1, count, bits);
    const flags = this.#flags;
    for (let i = 0; i < count; i++) flags[to + i] = bits[i]!;
    releaseBuffer(bits);
  }

  insertNulls(from: number, count: number, slots: number, present: Uint8Array): void {
    const flags = this.#flags;
    let value = from + count;
    for (let slot = from + slots - 1; slot >= from; slot--) {
      if (present[slot] === 1) flags[slot] = flags[--value]!;
    }
  }

  finish(): { readonly values: ColumnValues; readonly bytes: number } {
    return { values: { kind: 'flags', flags: this.#flags }, bytes: this.#flags.byteLength };
  }
}

function requireDictionary(encoding: number): void {
  if (encoding !== encodingId.rleDictionary) {
    throw new RangeError(`encoding ${encoding} is not one of ours`);
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Int32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
