import { acquire, release } from '../core/buffers.js';
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
import { encodingId } from './encoding.js';
import { physicalType } from './schema.js';

/** The values of a page without its nulls: as `Values` (values.ts), but with one byte per boolean. */
export type DecodedValues =
  | { readonly kind: 'booleans'; readonly booleans: Uint8Array }
  | { readonly kind: 'int32s'; readonly int32s: Int32Array }
  | { readonly kind: 'int64s'; /** Low and high half of each value. */ readonly int32s: Int32Array }
  | { readonly kind: 'strings'; readonly bytes: Uint8Array; readonly offsets: Int32Array };

/** The number of values. */
export function valueCount(values: DecodedValues): number {
  if (values.kind === 'booleans') return values.booleans.length;
  if (values.kind === 'strings') return values.offsets.length - 1;
  return values.kind === 'int64s' ? values.int32s.length / 2 : values.int32s.length;
}

/**
 * Decodes `count` values of a page in the encodings that this encoder writes; throws a `RangeError` for any other. `dictionary` holds
 * the entries of the chunk's dictionary page, if it has one.
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
      const indices = acquire(Int32Array, count);
      try {
        readHybrid(source, source.byte(), count, indices);
        return gatherValues(dictionary, indices, count);
      } finally {
        release(indices);
      }
    }
    default:
      throw new RangeError(`encoding ${encoding} is not supported`);
  }
}

function plainValues(source: ByteSource, physical: number, count: number): DecodedValues {
  switch (physical) {
    case physicalType.boolean: {
      const bits = source.take(Math.ceil(count / 8));
      return { kind: 'booleans', booleans: Uint8Array.from({ length: count }, (_, i) => (bits[i >> 3]! >> (i & 7)) & 1) }; // prettier-ignore
    }
    case physicalType.int32:
    case physicalType.float:
      return { kind: 'int32s', int32s: alignedIntegers(source.take(4 * count)) };
    case physicalType.int64:
    case physicalType.double:
      return { kind: 'int64s', int32s: alignedIntegers(source.take(8 * count)) };
    case physicalType.byteArray: {
      const rest = source.bytes.length - source.at - 4 * count;
      if (rest < 0) throw new RangeError('strings end after their page');
      const target = stringTarget(count, rest);
      return stringsOf(target, readPlainStrings(source, count, target, 0, 0));
    }
    default:
      throw new RangeError(`no plain values of type ${physical}`);
  }
}

/** A copy, because the position of the bytes may not be a multiple of four. */
function alignedIntegers(bytes: Uint8Array): Int32Array {
  return new Int32Array(new Uint8Array(bytes).buffer);
}

function stringsOf({ bytes, offsets }: StringTarget, end: number): DecodedValues {
  return { kind: 'strings', bytes: bytes.subarray(0, end), offsets };
}

/** Booleans in RLE, with their length in front. */
function readBooleans(source: ByteSource, count: number): Uint8Array {
  source.length();
  const bits = acquire(Int32Array, count);
  try {
    readHybrid(source, 1, count, bits);
    const booleans = new Uint8Array(count);
    for (let i = 0; i < count; i++) booleans[i] = bits[i]!;
    return booleans;
  } finally {
    release(bits);
  }
}

function deltaInt32s(source: ByteSource, count: number): DecodedValues {
  const int32s = new Int32Array(count);
  readDeltaInts(source, count, int32s, 0);
  return { kind: 'int32s', int32s };
}

/** This encoder writes deltas only for integers that a double holds exactly. */
function deltaInt64s(source: ByteSource, count: number): DecodedValues {
  const values = acquire(Float64Array, count);
  try {
    readDeltaDoubles(source, count, values, 0);
    const int32s = new Int32Array(2 * count);
    for (let i = 0; i < count; i++) {
      int32s[2 * i] = values[i]!; // modulo 2^32
      int32s[2 * i + 1] = Math.floor(values[i]! / 2 ** 32);
    }
    return { kind: 'int64s', int32s };
  } finally {
    release(values);
  }
}

function deltaStrings(source: ByteSource, count: number): DecodedValues {
  let target!: StringTarget;
  const targetFor = (byteLength: number): StringTarget =>
    (target = stringTarget(count, byteLength));
  const end = readDeltaStrings(source, count, targetFor, 0, 0);
  return stringsOf(target, end);
}

/** The dictionary entries with these indices. */
function gatherValues(
  dictionary: DecodedValues,
  indices: Int32Array,
  count: number,
): DecodedValues {
  switch (dictionary.kind) {
    case 'int32s': {
      const int32s = new Int32Array(count);
      for (let i = 0; i < count; i++) int32s[i] = dictionary.int32s[indices[i]!]!;
      return { kind: 'int32s', int32s };
    }
    case 'int64s': {
      const int32s = new Int32Array(2 * count);
      for (let i = 0; i < count; i++) {
        int32s[2 * i] = dictionary.int32s[2 * indices[i]!]!;
        int32s[2 * i + 1] = dictionary.int32s[2 * indices[i]! + 1]!;
      }
      return { kind: 'int64s', int32s };
    }
    case 'strings': {
      const { bytes, offsets } = dictionary;
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
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
