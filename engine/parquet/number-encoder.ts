import { acquireBuffer, releaseBuffer } from '../core/buffers.js';
import { writeDeltas } from './delta.js';
import { buildDictionary, type FrameOfReference } from './dictionary.js';
import {
  dictionaryEncoder,
  encodingId,
  plainEncoder,
  plainEncoderMembers,
  type Encoder,
  type PageValueRange,
} from './page-encodings.js';
import { bitWidth } from './hybrid.js';
import { writePlainInt32sAt, writePlainInt64sAt } from './plain-encoding.js';
import { physicalType, type ParquetLeaf } from './parquet-schema.js';
import {
  joinedStatistics,
  noStatistics,
  statisticsOf,
  type MinMax,
  type RangeStatistics,
} from './statistics.js';
import type { Int32s, Int64s } from './encoder-values.js';

/**
 * Returns the encoder of a column of numbers: DELTA_BINARY_PACKED for integers within 2^31 of each other that mostly increase (such as
 * positions), else a dictionary if that is smaller, else DELTA_BINARY_PACKED for integers in a narrow range, else PLAIN.
 */
export function numberEncoder(
  leaf: ParquetLeaf,
  values: Int32s | Int64s,
  pages: readonly PageValueRange[],
): Encoder {
  const ranges = pages.map(({ value, valueEnd }) => statisticsOf(leaf, values, value, valueEnd));
  const isWhole = leaf.physical === physicalType.int32 || leaf.physical === physicalType.int64;
  const near = isWhole
    ? frameOfReferenceOf(values, ranges.reduce(joinedStatistics, noStatistics).minMax)
    : undefined;
  if (near !== undefined && isIncreasing(near.distances, values.count))
    return deltaEncoder(near, ranges);
  const { bits, plainShare, maxDeltaBits } = numberSizes[values.kind];
  const deltaBits = near === undefined ? bits : bitWidth(near.span) + 1;
  const isNarrow = deltaBits <= maxDeltaBits;
  const alternativeShare = isNarrow ? (deltaBits * packedDeltaFactor) / bits : plainShare;
  const dictionary = buildDictionary(values, alternativeShare, near);
  if (dictionary !== undefined) {
    if (near !== undefined) releaseBuffer(near.distances);
    const { firsts, entryCount } = dictionary;
    return dictionaryEncoder(dictionary, ranges, (sink) =>
      values.kind === 'int32s'
        ? writePlainInt32sAt(sink, values.int32s, firsts, entryCount)
        : writePlainInt64sAt(sink, values.halves, firsts, entryCount),
    );
  }
  if (near !== undefined && isNarrow) return deltaEncoder(near, ranges);
  if (near !== undefined) releaseBuffer(near.distances);
  return plainEncoder(values, ranges);
}

/**
 * The sizes of numbers: their bits; the size in PLAIN after compression, as a share of the size before; and up to how many bits of a
 * difference delta encoding is smaller than PLAIN: with more bits, compressed PLAIN is not larger.
 */
const numberSizes = {
  int32s: { bits: 32, plainShare: 0.8, maxDeltaBits: 24 },
  int64s: { bits: 64, plainShare: 0.9, maxDeltaBits: 48 },
};

/** A factor for the size of packed differences when it is compared with that of a dictionary, which compresses better than they do. */
const packedDeltaFactor = 1.25;

/** Up to this limit, a number and twice that number, which the zigzag encoding needs, are exact as JavaScript numbers. */
const maxZigzagInteger = 2 ** 52;

function frameOfReferenceOf(
  values: Int32s | Int64s,
  minMax: MinMax | undefined,
): FrameOfReference | undefined {
  if (minMax === undefined) return undefined;
  const base = Number(minMax.min);
  const span = Number(minMax.max) - base;
  if (span >= 2 ** 31 || Math.abs(base) > maxZigzagInteger || base + span > maxZigzagInteger)
    return undefined;
  const { count } = values;
  const distances = acquireBuffer(Int32Array, count);
  const low = Number(BigInt.asIntN(32, BigInt(base)));
  if (values.kind === 'int32s') {
    const { int32s } = values;
    for (let i = 0; i < count; i++) distances[i] = int32s[i]! - low;
  } else {
    const { halves } = values;
    for (let i = 0; i < count; i++) distances[i] = halves[2 * i]! - low;
  }
  return { distances, base, span };
}

const sampleBlocks = 16;
const sampleBlockValues = 64;

/** Returns whether at least 80 % of the values are greater than their predecessor, judged from a sample. */
function isIncreasing(values: Int32Array, count: number): boolean {
  const step = Math.max(sampleBlockValues, Math.floor(count / sampleBlocks));
  let increasing = 0;
  let sampled = 0;
  for (let block = 0; block < count; block += step) {
    const end = Math.min(count, block + sampleBlockValues);
    for (let i = block + 1; i < end; i++) {
      if (values[i]! > values[i - 1]!) increasing++;
      sampled++;
    }
  }
  return sampled > 0 && increasing >= sampled * 0.8;
}

function deltaEncoder(near: FrameOfReference, ranges: readonly RangeStatistics[]): Encoder {
  const { distances, base } = near;
  return {
    ...plainEncoderMembers,
    encoding: encodingId.deltaBinaryPacked,
    ranges,
    write: (sink, from, to) => writeDeltas(sink, distances, from, to, base),
    release: () => releaseBuffer(distances),
  };
}
