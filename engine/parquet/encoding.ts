import { writeRleBitPacked, writeRun, bitWidth } from './hybrid.js';
import { releaseDictionary, type DictionaryEncoding } from './dictionary.js';
import type { ByteSink } from './byte-sink.js';
import type { Range } from './statistics.js';

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
  /** One of `encodingId`. */
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
