import { give, take } from '../../buffers.js';
import { sharedPrefix, writeDeltas, writeDeltaTexts } from './delta.js';
import { buildDictionary, plainBytes, releaseDictionary, type Dictionary } from './dictionary.js';
import { bitWidth, writeHybrid } from './hybrid.js';
import { plainPairsAt, plainTexts, plainTextsAt, plainWords, plainWordsAt } from './plain.js';
import { physicalType, type ParquetLeaf } from './schema.js';
import type { ByteSink } from './sink.js';
import type { Extremes } from './statistics.js';
import type { Pairs, Texts, Values, Words } from './values.js';

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
  /** Writes values `from` to `to`, the body of a page behind its levels. */
  write(sink: ByteSink, from: number, to: number): void;
  /** The entries of the dictionary, if there is one, and how they are written (PLAIN). */
  readonly entries: number;
  writeDictionary(sink: ByteSink): void;
  /** Gives the memory back. */
  release(): void;
}

const noDictionary = { entries: 0, writeDictionary: () => {}, release: () => {} };

const wholes: ReadonlySet<number> = new Set([physicalType.int32, physicalType.int64]);

/** Chooses by looking at the values: what measured smallest at the same speed of queries. */
export function chooseEncoder(
  leaf: ParquetLeaf,
  values: Values,
  extremes: Extremes | undefined,
): Encoder {
  switch (values.kind) {
    case 'flags':
      return flagEncoder(values.flags);
    case 'texts':
      return textEncoder(values);
    default:
      return numberEncoder(values, wholes.has(leaf.physical) ? extremes : undefined);
  }
}

/** RLE, the encoding of booleans in newer pages: a flag that is always set takes a few bytes. */
function flagEncoder(flags: Int32Array): Encoder {
  return {
    ...noDictionary,
    encoding: encodingId.rle,
    valueBytes: 1 / 8,
    write(sink, from, to) {
      const start = sink.startLength();
      writeHybrid(sink, flags, from, to, 1);
      sink.endLength(start);
    },
  };
}

function textEncoder(texts: Texts): Encoder {
  if (shareBeginnings(texts)) {
    return {
      ...noDictionary,
      encoding: encodingId.deltaByteArray,
      valueBytes: plainBytes(texts) / texts.count,
      write: (sink, from, to) => writeDeltaTexts(sink, texts, from, to),
    };
  }
  const dictionary = buildDictionary(texts, undefined);
  if (dictionary !== undefined) {
    return dictionaryEncoder(dictionary, (sink) =>
      plainTextsAt(sink, texts, dictionary.firsts, dictionary.entries),
    );
  }
  return {
    ...noDictionary,
    encoding: encodingId.plain,
    valueBytes: plainBytes(texts) / Math.max(1, texts.count),
    write: (sink, from, to) => plainTexts(sink, texts, from, to),
  };
}

/** `extremes` are those of whole numbers; of others, there are none. */
function numberEncoder(values: Words | Pairs, extremes: Extremes | undefined): Encoder {
  const near = distances(values, extremes);
  if (near !== undefined && rises(near.distances, values.count)) return deltaEncoder(near, values);
  const dictionary = buildDictionary(values, near);
  if (dictionary !== undefined) {
    if (near !== undefined) give(near.distances);
    const { firsts, entries } = dictionary;
    return dictionaryEncoder(dictionary, (sink) =>
      values.kind === 'words'
        ? plainWordsAt(sink, values.words, firsts, entries)
        : plainPairsAt(sink, values.pairs, firsts, entries),
    );
  }
  // Differences take as many bits as the range, and one for the sign.
  const bits = values.kind === 'words' ? 24 : 48;
  if (near !== undefined && bitWidth(near.range) < bits) return deltaEncoder(near, values);
  if (near !== undefined) give(near.distances);
  return {
    ...noDictionary,
    encoding: encodingId.plain,
    valueBytes: values.kind === 'words' ? 4 : 8,
    write(sink, from, to) {
      if (values.kind === 'words') plainWords(sink, values.words, from, to);
      else plainWords(sink, values.pairs, 2 * from, 2 * to);
    },
  };
}

function dictionaryEncoder(
  dictionary: Dictionary,
  writeDictionary: (sink: ByteSink) => void,
): Encoder {
  // Some readers know no width of 0.
  const width = Math.max(1, bitWidth(dictionary.entries - 1));
  return {
    encoding: encodingId.rleDictionary,
    valueBytes: width / 8,
    entries: dictionary.entries,
    writeDictionary,
    write(sink, from, to) {
      sink.byte(width);
      writeHybrid(sink, dictionary.indices, from, to, width);
    },
    release: () => releaseDictionary(dictionary),
  };
}

interface Near {
  readonly distances: Int32Array;
  readonly range: number;
  readonly base: number;
}

function deltaEncoder({ distances, base, range }: Near, values: Words | Pairs): Encoder {
  return {
    ...noDictionary,
    encoding: encodingId.deltaBinaryPacked,
    valueBytes: Math.min(values.kind === 'words' ? 4 : 8, bitWidth(range) / 8),
    write: (sink, from, to) => writeDeltas(sink, distances, from, to, base),
    release: () => give(distances),
  };
}

/** Whole numbers as distances from the smallest, if 31 bits are enough for that. */
function distances(values: Words | Pairs, extremes: Extremes | undefined): Near | undefined {
  if (extremes === undefined) return undefined;
  const range = Number(extremes.max) - Number(extremes.min);
  if (range >= 2 ** 31 || !Number.isSafeInteger(Number(extremes.min))) return undefined;
  const { count } = values;
  const near = take(Int32Array, count);
  const base = Number(extremes.min);
  const low = Number(BigInt.asIntN(32, BigInt(extremes.min as number)));
  if (values.kind === 'words') {
    for (let i = 0; i < count; i++) near[i] = values.words[i]! - low;
  } else {
    for (let i = 0; i < count; i++) near[i] = values.pairs[2 * i]! - low;
  }
  return { distances: near, range, base };
}

const sampleBlocks = 16;
const sampleBlockValues = 64;

/** Do the values rise nearly always, as positions do? Rows of a few blocks spread over the column tell. */
function rises(values: Int32Array, count: number): boolean {
  const step = Math.max(sampleBlockValues, Math.floor(count / sampleBlocks));
  let rising = 0;
  let sampled = 0;
  for (let block = 0; block < count; block += step) {
    const end = Math.min(count, block + sampleBlockValues);
    for (let i = block + 1; i < end; i++) {
      if (values[i]! > values[i - 1]!) rising++;
      sampled++;
    }
  }
  return sampled > 0 && rising >= sampled * 0.8;
}

/** Do texts differ from the one before, but only in their last third (`_id`)? */
function shareBeginnings(texts: Texts): boolean {
  const { count, offsets } = texts;
  const step = Math.max(sampleBlockValues, Math.floor(count / sampleBlocks));
  let bytes = 0;
  let shared = 0;
  for (let block = 0; block < count; block += step) {
    const end = Math.min(count, block + sampleBlockValues);
    for (let i = block + 1; i < end; i++) {
      const size = offsets[i + 1]! - offsets[i]!;
      const same = sharedPrefix(texts, i);
      bytes += size;
      if (same < size) shared += same;
    }
  }
  return shared * 3 > bytes * 2;
}
