import { writeHybrid, writeRun, bitWidth } from './hybrid.js';
import { releaseDictionary, type Dictionary } from './dictionary.js';
import { numberEncoder } from './number-encoder.js';
import type { ParquetLeaf } from './schema.js';
import type { ByteSink } from './byte-sink.js';
import { rangeOf, type Range } from './statistics.js';
import { textEncoder } from './string-encoder.js';
import type { Flags, Values } from './values.js';

/** Encodings by their number in parquet.thrift (`Encoding`). */
export const encodingId = {
  plain: 0,
  rle: 3,
  deltaBinaryPacked: 5,
  deltaLengthByteArray: 6,
  deltaByteArray: 7,
  rleDictionary: 8,
} as const;

/** How the values of a column chunk are written. */
export interface Encoder {
  /** One of `encodingId`. */
  readonly encoding: number;
  /** About how many bytes a value takes, for cutting pages. */
  readonly valueBytes: number;
  /** Of all values. */
  readonly range: Range;
  /** Writes values `from` to `to`: the part of a page behind its levels. */
  write(sink: ByteSink, from: number, to: number): void;
  /** The entries of the dictionary, if there is one, and how they are written (PLAIN). */
  readonly entries: number;
  writeDictionary(sink: ByteSink): void;
  /** Gives the memory back. */
  release(): void;
}

/** What an encoder without a dictionary has in its place. */
export const noDictionary = { entries: 0, writeDictionary: () => {}, release: () => {} };

/** Chooses by looking at the values. */
export function chooseEncoder(leaf: ParquetLeaf, values: Values): Encoder {
  if (values.kind === 'flags') return flagEncoder(leaf, values);
  return values.kind === 'texts' ? textEncoder(values) : numberEncoder(leaf, values);
}

/** RLE, which newer readers know for booleans: a flag that is always set takes a few bytes. */
function flagEncoder(leaf: ParquetLeaf, values: Flags): Encoder {
  return {
    ...noDictionary,
    encoding: encodingId.rle,
    valueBytes: 1 / 8,
    range: rangeOf(leaf, values),
    write(sink, from, to) {
      const start = sink.startLength();
      writeHybrid(sink, values.flags, from, to, 1);
      sink.endLength(start);
    },
  };
}

/** RLE_DICTIONARY (Encodings.md): the width of the indices, and then the indices. */
export function dictionaryEncoder(
  dictionary: Dictionary,
  range: Range,
  writeDictionary: (sink: ByteSink) => void,
): Encoder {
  const { entries, indices } = dictionary;
  const width = Math.max(1, bitWidth(entries - 1)); // some readers know no width of 0
  return {
    encoding: encodingId.rleDictionary,
    valueBytes: width / 8,
    range,
    entries,
    writeDictionary,
    write(sink, from, to) {
      sink.byte(width);
      if (entries === 1) writeRun(sink, 0, to - from, width);
      else writeHybrid(sink, indices, from, to, width);
    },
    release: () => releaseDictionary(dictionary),
  };
}
