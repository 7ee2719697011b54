import { acquire, release } from '../core/buffers.js';
import { writeDeltas } from './delta.js';
import { buildDictionary } from './dictionary.js';
import { dictionaryEncoder, encodingId, noDictionary, type Encoder } from './encoding.js';
import { bitWidth } from './hybrid.js';
import { plainPairsAt, plainWords, plainWordsAt } from './plain.js';
import { physicalType, type ParquetLeaf } from './schema.js';
import { rangeOf, type Extremes, type Range } from './statistics.js';
import type { Pairs, Words } from './values.js';

/**
 * The encoder of a column of numbers. Whole numbers that rise (positions) are written as differences; then a dictionary is
 * tried; then differences again, where numbers span few bits.
 */
export function numberEncoder(leaf: ParquetLeaf, values: Words | Pairs): Encoder {
  const range = rangeOf(leaf, values);
  const isWhole = leaf.physical === physicalType.int32 || leaf.physical === physicalType.int64;
  const near = isWhole ? nearOf(values, range.extremes) : undefined;
  if (near !== undefined && rises(near.distances, values.count)) return deltaEncoder(near, range);
  const dictionary = buildDictionary(values, near);
  if (dictionary !== undefined) {
    if (near !== undefined) release(near.distances);
    const { firsts, entries } = dictionary;
    return dictionaryEncoder(dictionary, range, (sink) =>
      values.kind === 'words'
        ? plainWordsAt(sink, values.words, firsts, entries)
        : plainPairsAt(sink, values.pairs, firsts, entries),
    );
  }
  if (near !== undefined && bitWidth(near.span) < mostDeltaBits[values.kind])
    return deltaEncoder(near, range);
  if (near !== undefined) release(near.distances);
  return plainEncoder(values, range);
}

/** Differences of numbers in no order take a bit more than the numbers; with more bits, PLAIN compresses as well. */
const mostDeltaBits = { words: 24, pairs: 48 };

/** Whole numbers within 2^31 of each other, as distances from the smallest. */
export interface Near {
  readonly distances: Int32Array;
  readonly base: number;
  /** The largest distance. */
  readonly span: number;
}

function nearOf(values: Words | Pairs, extremes: Extremes | undefined): Near | undefined {
  if (extremes === undefined) return undefined;
  const base = Number(extremes.min);
  const span = Number(extremes.max) - base;
  if (span >= 2 ** 31 || !Number.isSafeInteger(base)) return undefined;
  const { count } = values;
  const distances = acquire(Int32Array, count);
  const low = Number(BigInt.asIntN(32, BigInt(base)));
  if (values.kind === 'words') {
    const { words } = values;
    for (let i = 0; i < count; i++) distances[i] = words[i]! - low;
  } else {
    const { pairs } = values;
    for (let i = 0; i < count; i++) distances[i] = pairs[2 * i]! - low;
  }
  return { distances, base, span };
}

const sampleBlocks = 16;
const sampleBlockValues = 64;

/** Do values rise nearly always? A few blocks spread over the column tell. */
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

function deltaEncoder(near: Near, range: Range): Encoder {
  const { distances, base, span } = near;
  return {
    ...noDictionary,
    encoding: encodingId.deltaBinaryPacked,
    valueBytes: bitWidth(span) / 8,
    range,
    write: (sink, from, to) => writeDeltas(sink, distances, from, to, base),
    release: () => release(distances),
  };
}

function plainEncoder(values: Words | Pairs, range: Range): Encoder {
  return {
    ...noDictionary,
    encoding: encodingId.plain,
    valueBytes: values.kind === 'words' ? 4 : 8,
    range,
    write(sink, from, to) {
      if (values.kind === 'words') plainWords(sink, values.words, from, to);
      else plainWords(sink, values.pairs, 2 * from, 2 * to);
    },
  };
}
