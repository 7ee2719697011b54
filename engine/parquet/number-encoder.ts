import { acquire, release } from '../core/buffers.js';
import { writeDeltas } from './delta.js';
import { buildDictionary, type NearIntegers } from './dictionary.js';
import {
  dictionaryEncoder,
  encodingId,
  plainEncoder,
  plainEncoderMembers,
  type Encoder,
  type PageValues,
} from './encoding.js';
import { bitWidth } from './hybrid.js';
import { plainInt32sAt, plainInt64sAt } from './plain.js';
import { physicalType, type ParquetLeaf } from './schema.js';
import { joinedRange, noValues, rangeOf, type Extremes, type Range } from './statistics.js';
import type { Int32s, Int64s } from './values.js';

/**
 * The encoder of a column of numbers: DELTA_BINARY_PACKED for integers that mostly increase (positions), else a dictionary if that is
 * smaller, else DELTA_BINARY_PACKED for integers in a narrow range, else PLAIN.
 */
export function numberEncoder(
  leaf: ParquetLeaf,
  values: Int32s | Int64s,
  pages: readonly PageValues[],
): Encoder {
  const ranges = pages.map(({ value, valueEnd }) => rangeOf(leaf, values, value, valueEnd));
  const isWhole = leaf.physical === physicalType.int32 || leaf.physical === physicalType.int64;
  const near = isWhole ? nearOf(values, ranges.reduce(joinedRange, noValues).extremes) : undefined;
  if (near !== undefined && isIncreasing(near.distances, values.count))
    return deltaEncoder(near, ranges);
  const dictionary = buildDictionary(values, near);
  if (dictionary !== undefined) {
    if (near !== undefined) release(near.distances);
    const { firsts, entries } = dictionary;
    return dictionaryEncoder(dictionary, ranges, (sink) =>
      values.kind === 'int32s'
        ? plainInt32sAt(sink, values.int32s, firsts, entries)
        : plainInt64sAt(sink, values.halves, firsts, entries),
    );
  }
  if (near !== undefined && bitWidth(near.span) < maxDeltaBits[values.kind])
    return deltaEncoder(near, ranges);
  if (near !== undefined) release(near.distances);
  return plainEncoder(values, ranges);
}

/** Unordered integers of fewer bits are smaller as differences, which take one bit more; with more bits, PLAIN compresses as well. */
const maxDeltaBits = { int32s: 24, int64s: 48 };

/** The limit up to which the number and its double, which the zigzag encoding needs, are exact in a double. */
const maxExact = 2 ** 52;

function nearOf(values: Int32s | Int64s, extremes: Extremes | undefined): NearIntegers | undefined {
  if (extremes === undefined) return undefined;
  const base = Number(extremes.min);
  const span = Number(extremes.max) - base;
  if (span >= 2 ** 31 || Math.abs(base) > maxExact || base + span > maxExact) return undefined;
  const { count } = values;
  const distances = acquire(Int32Array, count);
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

/** Whether at least 80 % of the values are above their predecessor; judged from a sample. */
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

function deltaEncoder(near: NearIntegers, ranges: readonly Range[]): Encoder {
  const { distances, base } = near;
  return {
    ...plainEncoderMembers,
    encoding: encodingId.deltaBinaryPacked,
    ranges,
    write: (sink, from, to) => writeDeltas(sink, distances, from, to, base),
    release: () => release(distances),
  };
}
