import { writeRleBitPacked, writeRun, bitWidth } from './hybrid.js';
import { releaseDictionary, type DictionaryEncoding } from './dictionary.js';
import type { ByteSink } from './byte-sink.js';
import { plainInt32s, plainStrings } from './plain.js';
import type { Range } from './statistics.js';
import type { Int32s, Int64s, Strings } from './values.js';

/** Encodings by their number in parquet.thrift (`Encoding`). */
export const encodingId = {
  plain: 0,
  rle: 3,
  deltaBinaryPacked: 5,
  deltaByteArray: 7,
  rleDictionary: 8,
} as const;

/** The values of a page: `value` to `valueEnd`, without the latter. */
export interface PageValues {
  readonly value: number;
  readonly valueEnd: number;
}

/** Writes the values of one column chunk in one encoding. Call `release` after use. */
export interface Encoder {
  /** The id of the encoding, one of `encodingId`. */
  readonly encoding: number;
  /** The extremes of the values of each page. */
  readonly ranges: readonly Range[];
  /** Writes the values `from` to `to`: the part of a page that follows its levels. */
  write(sink: ByteSink, from: number, to: number): void;
  /** Number of dictionary entries; 0 without a dictionary. */
  readonly entries: number;
  /** Writes the entries of the dictionary in PLAIN. */
  writeDictionary(sink: ByteSink): void;
  release(): void;
}

/** The members of an encoder that has no dictionary and no buffers. */
export const plainEncoderMembers = { entries: 0, writeDictionary: () => {}, release: () => {} };

/** PLAIN (Encodings.md): stores values as they are. */
export function plainEncoder(values: Strings | Int32s | Int64s, ranges: readonly Range[]): Encoder {
  return {
    ...plainEncoderMembers,
    encoding: encodingId.plain,
    ranges,
    write(sink, from, to) {
      if (values.kind === 'strings') plainStrings(sink, values, from, to);
      else if (values.kind === 'int32s') plainInt32s(sink, values.int32s, from, to);
      else plainInt32s(sink, values.halves, 2 * from, 2 * to);
    },
  };
}

/** RLE_DICTIONARY (Encodings.md, "Dictionary Encoding"): one byte for the bit width of the indices, then the indices. */
export function dictionaryEncoder(
  dictionary: DictionaryEncoding,
  ranges: readonly Range[],
  writeDictionary: (sink: ByteSink) => void,
): Encoder {
  const { entries, indices } = dictionary;
  const width = Math.max(1, bitWidth(entries - 1)); // some readers reject a width of 0
  return {
    encoding: encodingId.rleDictionary,
    ranges,
    entries,
    writeDictionary,
    write(sink, from, to) {
      sink.byte(width);
      if (entries === 1) writeRun(sink, 0, to - from, width);
      else writeRleBitPacked(sink, indices, from, to, width);
    },
    release: () => releaseDictionary(dictionary),
  };
}
