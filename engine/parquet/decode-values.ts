import { acquireBuffer, dataViewOf, releaseBuffer } from '../core/buffers.js';
import type { ByteSource } from './byte-source.js';
import { readDeltaDoubles, readDeltaInts } from './decode-delta.js';
import { readHybrid } from './decode-hybrid.js';
import {
  gatherStrings,
  readDeltaStrings,
  readPlainStrings,
  stringTarget,
  type StringTarget,
} from './decode-strings.js';
import { encodingId } from './page-encodings.js';
import { physicalType } from './parquet-schema.js';

/** The values of a page without its nulls: like `EncoderValues` (encoder-values.ts), but with one byte per boolean. */
export type DecodedValues =
  | { readonly kind: 'booleans'; readonly booleans: Uint8Array }
  | { readonly kind: 'int32s'; readonly int32s: Int32Array }
  | {
      readonly kind: 'int64s';
      /** the low and the high half of each value */ readonly int32s: Int32Array;
    }
  | { readonly kind: 'strings'; readonly bytes: Uint8Array; readonly offsets: Int32Array };

/** Returns the number of values. */
export function valueCount(values: DecodedValues): number {
  if (values.kind === 'booleans') return values.booleans.length;
  if (values.kind === 'strings') return values.offsets.length - 1;
  return values.kind === 'int64s' ? values.int32s.length / 2 : values.int32s.length;
}

/**
 * Decodes `count` values of a page in the encodings that Strandlake writes; throws a `RangeError` for any other encoding. `dictionary`
 * contains the entries of the column chunk's dictionary page, if there is one.
 */
export function readValues(
  source: ByteSource,
  physical: number,
  encoding: number,
  count: number,
  dictionary: DecodedValues | undefined,
): DecodedValues {
  switch (encoding) {
    case encodingId.plain:
      return plainValues(source, physical, count);
    case encodingId.rle:
      return { kind: 'booleans', booleans: readBooleans(source, count) };
    case encodingId.deltaBinaryPacked:
      return physical === physicalType.int32
        ? deltaInt32s(source, count)
        : deltaInt64s(source, count);
    case encodingId.deltaByteArray:
      return deltaStrings(source, count);
    case encodingId.rleDictionary: {
      if (dictionary === undefined) throw new RangeError('a page needs a dictionary');
      const indices = acquireBuffer(Int32Array, count);
      try {
        readHybrid(source, source.readByte(), count, indices);
        return gatherValues(dictionary, indices, count);
      } finally {
        releaseBuffer(indices);
      }
    }
    default:
      throw new RangeError(`encoding ${encoding} is not supported`);
  }
}

function plainValues(source: ByteSource, physical: number, count: number): DecodedValues {
  switch (physical) {
    case physicalType.boolean: {
      const bits = source.readBytes(Math.ceil(count / 8));
      return { kind: 'booleans', booleans: Uint8Array.from({ length: count }, (_, i) => (bits[i >> 3]! >> (i & 7)) & 1) }; // prettier-ignore
    }
    case physicalType.int32:
    case physicalType.float:
      return { kind: 'int32s', int32s: alignedIntegers(source.readBytes(4 * count)) };
    case physicalType.int64:
    case physicalType.double:
      return { kind: 'int64s', int32s: alignedIntegers(source.readBytes(8 * count)) };
    case physicalType.byteArray: {
      const textBytes = source.bytes.length - source.readOffset - 4 * count;
      if (textBytes < 0) throw new RangeError('strings end after their page');
      const target = stringTarget(count, textBytes);
      return stringsOf(target, readPlainStrings(source, count, target, 0, 0));
    }
    default:
      throw new RangeError(`no plain values of type ${physical}`);
  }
}

/** Copies bytes to an array of integers, because their position may not be a multiple of four. */
function alignedIntegers(bytes: Uint8Array): Int32Array {
  return new Int32Array(new Uint8Array(bytes).buffer);
}

function stringsOf({ bytes, offsets }: StringTarget, end: number): DecodedValues {
  return { kind: 'strings', bytes: bytes.subarray(0, end), offsets };
}

/** Reads booleans in the encoding RLE, preceded by the length in bytes. */
function readBooleans(source: ByteSource, count: number): Uint8Array {
  source.readLength();
  const bits = acquireBuffer(Int32Array, count);
  try {
    readHybrid(source, 1, count, bits);
    const booleans = new Uint8Array(count);
    for (let i = 0; i < count; i++) booleans[i] = bits[i]!;
    return booleans;
  } finally {
    releaseBuffer(bits);
  }
}

function deltaInt32s(source: ByteSource, count: number): DecodedValues {
  const int32s = new Int32Array(count);
  readDeltaInts(source, count, int32s, 0);
  return { kind: 'int32s', int32s };
}

/** Strandlake writes deltas only for 64-bit integers that a double represents exactly. */
function deltaInt64s(source: ByteSource, count: number): DecodedValues {
  const values = acquireBuffer(Float64Array, count);
  try {
    readDeltaDoubles(source, count, values, 0);
    const int32s = new Int32Array(2 * count);
    for (let i = 0; i < count; i++) {
      int32s[2 * i] = values[i]!; // the low half: the assignment takes the number modulo 2^32
      int32s[2 * i + 1] = Math.floor(values[i]! / 2 ** 32);
    }
    return { kind: 'int64s', int32s };
  } finally {
    releaseBuffer(values);
  }
}

function deltaStrings(source: ByteSource, count: number): DecodedValues {
  let target!: StringTarget;
  const targetFor = (byteLength: number): StringTarget =>
    (target = stringTarget(count, byteLength));
  const end = readDeltaStrings(source, count, targetFor, 0, 0);
  return stringsOf(target, end);
}

/** Throws a `RangeError` if one of the first `count` indices is not that of an entry. */
function checkIndices(indices: Int32Array, count: number, entries: number): void {
  let largest = 0;
  for (let i = 0; i < count; i++) largest = Math.max(largest, indices[i]! >>> 0);
  if (count > 0 && largest >= entries) throw new RangeError('an index is outside the dictionary');
}

/** Returns the dictionary entries with these indices. */
function gatherValues(
  dictionary: DecodedValues,
  indices: Int32Array,
  count: number,
): DecodedValues {
  switch (dictionary.kind) {
    case 'int32s': {
      checkIndices(indices, count, dictionary.int32s.length);
      const int32s = new Int32Array(count);
      for (let i = 0; i < count; i++) int32s[i] = dictionary.int32s[indices[i]!]!;
      return { kind: 'int32s', int32s };
    }
    case 'int64s': {
      checkIndices(indices, count, dictionary.int32s.length / 2);
      const int32s = new Int32Array(2 * count);
      for (let i = 0; i < count; i++) {
        int32s[2 * i] = dictionary.int32s[2 * indices[i]!]!;
        int32s[2 * i + 1] = dictionary.int32s[2 * indices[i]! + 1]!;
      }
      return { kind: 'int64s', int32s };
    }
    case 'strings': {
      const { bytes, offsets } = dictionary;
      const view = dataViewOf(bytes);
      let stringBytes = 0;
      for (let i = 0; i < count; i++)
        stringBytes += offsets[indices[i]! + 1]! - offsets[indices[i]!]!;
      if (!Number.isSafeInteger(stringBytes))
        throw new RangeError('an index is outside the dictionary');
      const target = stringTarget(count, stringBytes);
      return stringsOf(
        target,
        gatherStrings({ bytes, offsets, view }, indices, count, target, 0, 0),
      );
    }
    default:
      throw new RangeError('booleans have no dictionary');
  }
}
