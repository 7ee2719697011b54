import { writeRleBitPacked, writeRun, bitWidth } from './hybrid.js';
import { releaseDictionary, type DictionaryEncoding } from './dictionary.js';
import type { ByteSink } from './byte-sink.js';
import { writePlainInt32s, writePlainStrings } from './plain-encoding.js';
import type { RangeStatistics } from './statistics.js';
import type { Int32s, Int64s, Strings } from './encoder-values.js';

/** Encodings by their number in parquet.thrift (`Encoding`). */
export const encodingId = {
  plain: 0,
  rle: 3,
  deltaBinaryPacked: 5,
  deltaByteArray: 7,
  rleDictionary: 8,
} as const;

/** The values of a page: from `value` to before `valueEnd`. */
export interface PageValueRange {
  readonly value: number;
  readonly valueEnd: number;
}

/** Writes the values of one column chunk in one encoding. Call `release` after use. */
export interface Encoder {
  /** The id of the encoding, one of `encodingId`. */
  readonly encoding: number;
  /** The extremes of each page; `noStatistics` if its values have not been examined. */
  readonly ranges: readonly RangeStatistics[];
  /** Writes the values from `from` to before `to`: the part of a page that follows its levels. */
  write(sink: ByteSink, from: number, to: number): void;
  /** Number of dictionary entries; 0 without a dictionary. */
  readonly entries: number;
  /** Writes the entries of the dictionary in PLAIN. */
  writeDictionary(sink: ByteSink): void;
  release(): void;
}

/** The members of an encoder that has neither a dictionary nor buffers. */
export const plainEncoderMembers = { entries: 0, writeDictionary: () => {}, release: () => {} };

/** Returns an encoder that writes PLAIN (Encodings.md), which stores values unchanged. */
export function plainEncoder(
  values: Strings | Int32s | Int64s,
  ranges: readonly RangeStatistics[],
): Encoder {
  return {
    ...plainEncoderMembers,
    encoding: encodingId.plain,
    ranges,
    write(sink, from, to) {
      if (values.kind === 'strings') writePlainStrings(sink, values, from, to);
      else if (values.kind === 'int32s') writePlainInt32s(sink, values.int32s, from, to);
      else writePlainInt32s(sink, values.halves, 2 * from, 2 * to);
    },
  };
}

/** Returns an encoder that writes RLE_DICTIONARY (Encodings.md, "Dictionary Encoding"): a byte with the bit width, then the indices. */
export function dictionaryEncoder(
  dictionary: DictionaryEncoding,
  ranges: readonly RangeStatistics[],
  writeDictionary: (sink: ByteSink) => void,
): Encoder {
  const { entryCount, indices } = dictionary;
  const width = Math.max(1, bitWidth(entryCount - 1)); // some readers reject a width of 0
  return {
    encoding: encodingId.rleDictionary,
    ranges,
    entries: entryCount,
    writeDictionary,
    write(sink, from, to) {
      sink.writeByte(width);
      if (entryCount === 1) writeRun(sink, 0, to - from, width);
      else writeRleBitPacked(sink, indices, from, to, width);
    },
    release: () => releaseDictionary(dictionary),
  };
}
