import { sharedPrefixLength, writeDeltaStrings, writeUnsharedStrings } from './delta.js';
import { buildDictionary } from './dictionary.js';
import {
  dictionaryEncoder,
  encodingId,
  plainEncoder,
  plainEncoderMembers,
  type Encoder,
  type PageValueRange,
} from './page-encodings.js';
import { writePlainStringsAt } from './plain-encoding.js';
import { dictionaryRanges, stringRange, type RangeStatistics } from './statistics.js';
import type { Strings } from './encoder-values.js';

/**
 * Returns the encoder of a column of strings: DELTA_BYTE_ARRAY if neighbors share long prefixes (such as ids that count up), else a
 * dictionary if that is smaller, else PLAIN.
 */
export function stringEncoder(strings: Strings, pages: readonly PageValueRange[]): Encoder {
  const rangesBy = (range: StringRangeOf): RangeStatistics[] =>
    pages.map(({ value, valueEnd }) => range(value, valueEnd));
  const compared: StringRangeOf = (from, to) => stringRange(strings, from, to);
  if (doNeighborsSharePrefixes(strings)) {
    return {
      ...plainEncoderMembers,
      encoding: encodingId.deltaByteArray,
      ranges: rangesBy(compared),
      write: (sink, from, to) => writeDeltaStrings(sink, strings, from, to),
    };
  }
  const dictionary = buildDictionary(strings, plainSizeShare);
  if (dictionary !== undefined) {
    const { firsts, entryCount } = dictionary;
    return dictionaryEncoder(dictionary, rangesBy(dictionaryRanges(strings, dictionary)), (sink) =>
      writePlainStringsAt(sink, strings, firsts, entryCount),
    );
  }
  return plainEncoder(strings, rangesBy(compared));
}

/** Returns an encoder that writes DELTA_BYTE_ARRAY with empty prefixes: fast to write, for files that are read once. */
export function unsharedEncoder(strings: Strings, ranges: readonly RangeStatistics[]): Encoder {
  return {
    ...plainEncoderMembers,
    encoding: encodingId.deltaByteArray,
    ranges,
    write: (sink, from, to) => writeUnsharedStrings(sink, strings, from, to),
  };
}

/** The size of strings in PLAIN after compression, as a share of the size before. */
const plainSizeShare = 0.5;

type StringRangeOf = (from: number, to: number) => RangeStatistics;

const sampleBlocks = 16;
const sampleBlockValues = 64;

/**
 * Returns whether more than two thirds of all bytes are prefixes that strings share with their predecessors, judged from a sample. A string
 * that equals its predecessor, or is a prefix of it, counts as sharing nothing.
 */
function doNeighborsSharePrefixes(strings: Strings): boolean {
  const { count, offsets } = strings;
  const step = Math.max(sampleBlockValues, Math.floor(count / sampleBlocks));
  let bytes = 0;
  let shared = 0;
  for (let block = 0; block < count; block += step) {
    const end = Math.min(count, block + sampleBlockValues);
    for (let i = block + 1; i < end; i++) {
      const size = offsets[i + 1]! - offsets[i]!;
      const same = sharedPrefixLength(strings, i);
      bytes += size;
      if (same < size) shared += same;
    }
  }
  return shared * 3 > bytes * 2;
}
