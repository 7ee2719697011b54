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

/** Values without their nulls, one behind the other, as `Values` has them; flags take a byte each. */
export type DecodedValues =
  | { readonly kind: 'flags'; readonly flags: Uint8Array }
  | { readonly kind: 'words'; readonly words: Int32Array }
  | { readonly kind: 'pairs'; readonly words: Int32Array }
  | { readonly kind: 'texts'; readonly bytes: Uint8Array; readonly offsets: Int32Array };

/** Reads the values of a page that our encoder wrote: all encodings that it knows, and no others. */
export function readValues(
  source: ByteSource,
  physical: number,
  encoding: number,
  count: number,
  dictionary: DecodedValues | undefined,
): DecodedValues {
  switch (encoding) {
    case encodingId.plain:
      return plain(source, physical, count);
    case encodingId.rle:
      return { kind: 'flags', flags: readFlags(source, count) };
    case encodingId.deltaBinaryPacked:
      return physical === physicalType.int32
        ? deltaWords(source, count)
        : deltaPairs(source, count);
    case encodingId.deltaByteArray:
      return deltaTexts(source, count);
    case encodingId.rleDictionary: {
      if (dictionary === undefined) throw new RangeError('a page needs a dictionary');
      const indices = acquire(Int32Array, count);
      readHybrid(source, source.byte(), count, indices);
      const found = picked(dictionary, indices, count);
      release(indices);
      return found;
    }
    default:
      throw new RangeError(`encoding ${encoding} is not one of ours`);
  }
}

function plain(source: ByteSource, physical: number, count: number): DecodedValues {
  switch (physical) {
    case physicalType.boolean: {
      const bits = source.take(Math.ceil(count / 8));
      return { kind: 'flags', flags: Uint8Array.from({ length: count }, (_, i) => (bits[i >> 3]! >> (i & 7)) & 1) }; // prettier-ignore
    }
    case physicalType.int32:
    case physicalType.float:
      return { kind: 'words', words: wordsOf(source.take(4 * count)) };
    case physicalType.int64:
    case physicalType.double:
      return { kind: 'pairs', words: wordsOf(source.take(8 * count)) };
    case physicalType.byteArray: {
      const rest = source.bytes.length - source.at - 4 * count;
      if (rest < 0) throw new RangeError('texts go beyond their page');
      const target = stringTarget(count, rest);
      return textsOf(target, readPlainStrings(source, count, target, 0, 0));
    }
    default:
      throw new RangeError(`no plain values of type ${physical}`);
  }
}

function wordsOf(bytes: Uint8Array): Int32Array {
  return new Int32Array(new Uint8Array(bytes).buffer); // copied, for its place may be odd
}

function textsOf({ bytes, offsets }: StringTarget, end: number): DecodedValues {
  return { kind: 'texts', bytes: bytes.subarray(0, end), offsets };
}

/** Booleans behind their length (RLE). */
function readFlags(source: ByteSource, count: number): Uint8Array {
  source.length();
  const bits = acquire(Int32Array, count);
  readHybrid(source, 1, count, bits);
  const flags = new Uint8Array(count);
  for (let i = 0; i < count; i++) flags[i] = bits[i]!;
  release(bits);
  return flags;
}

function deltaWords(source: ByteSource, count: number): DecodedValues {
  const words = new Int32Array(count);
  readDeltaInts(source, count, words, 0);
  return { kind: 'words', words };
}

/** Our encoder writes only differences of numbers that doubles hold; they come as low and high half. */
function deltaPairs(source: ByteSource, count: number): DecodedValues {
  const values = acquire(Float64Array, count);
  readDeltaDoubles(source, count, values, 0);
  const words = new Int32Array(2 * count);
  for (let i = 0; i < count; i++) {
    words[2 * i] = values[i]!; // modulo 2^32
    words[2 * i + 1] = Math.floor(values[i]! / 2 ** 32);
  }
  release(values);
  return { kind: 'pairs', words };
}

function deltaTexts(source: ByteSource, count: number): DecodedValues {
  // How long they are is known only from their lengths, which have to be read twice.
  const { at } = source;
  const lengths = acquire(Int32Array, count);
  let textBytes = 0;
  for (let part = 0; part < 2; part++) {
    readDeltaInts(source, count, lengths, 0);
    for (let i = 0; i < count; i++) textBytes += lengths[i]!;
  }
  release(lengths);
  source.at = at;
  const target = stringTarget(count, textBytes);
  return textsOf(target, readDeltaStrings(source, count, target, 0, 0));
}

function picked(dictionary: DecodedValues, indices: Int32Array, count: number): DecodedValues {
  switch (dictionary.kind) {
    case 'words': {
      const words = new Int32Array(count);
      for (let i = 0; i < count; i++) words[i] = dictionary.words[indices[i]!]!;
      return { kind: 'words', words };
    }
    case 'pairs': {
      const words = new Int32Array(2 * count);
      for (let i = 0; i < count; i++) {
        words[2 * i] = dictionary.words[2 * indices[i]!]!;
        words[2 * i + 1] = dictionary.words[2 * indices[i]! + 1]!;
      }
      return { kind: 'pairs', words };
    }
    case 'texts': {
      const { bytes, offsets } = dictionary;
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      let textBytes = 0;
      for (let i = 0; i < count; i++)
        textBytes += offsets[indices[i]! + 1]! - offsets[indices[i]!]!;
      if (!Number.isSafeInteger(textBytes)) throw new RangeError('a dictionary lacks an entry');
      const target = stringTarget(count, textBytes);
      return textsOf(target, gatherStrings({ bytes, offsets, view }, indices, count, target, 0, 0));
    }
    default:
      throw new RangeError('flags have no dictionary');
  }
}
