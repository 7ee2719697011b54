import type { DictionaryEncoding } from './dictionary.js';
import { physicalType, type ParquetLeaf } from './parquet-schema.js';
import type { Booleans, Int32s, Int64s, Strings } from './encoder-values.js';

/** A lower or upper bound: a 64-bit integer is a bigint, or a number if that is exact; a boolean is 0 or 1; a string is its bytes. */
export type Bound = number | bigint | Uint8Array;

/** The smallest and the largest of some values. */
export interface MinMax {
  readonly min: Bound;
  readonly max: Bound;
}

/** The extremes of some values, without NaN, which has no order. */
export interface RangeStatistics {
  readonly minMax: MinMax | undefined;
  readonly hasNaN: boolean;
}

/** The range of no values, also given for values that are not examined. */
export const noStatistics: RangeStatistics = { minMax: undefined, hasNaN: false };

/** Returns the extremes of the numbers or booleans `from` to `to` in the order of their type (parquet.thrift, `ColumnOrder`). */
export function statisticsOf(
  leaf: ParquetLeaf,
  values: Booleans | Int32s | Int64s,
  from: number,
  to: number,
): RangeStatistics {
  const count = to - from;
  if (count === 0) return noStatistics;
  switch (values.kind) {
    case 'booleans':
      return booleanRange(values.booleans.subarray(from, to));
    case 'int32s': {
      const { buffer, byteOffset } = values.int32s;
      return leaf.physical === physicalType.float
        ? floatRange(new Float32Array(buffer, byteOffset + 4 * from, count))
        : int32Range(values.int32s, from, to);
    }
    case 'int64s': {
      const { buffer, byteOffset } = values.halves;
      return leaf.physical === physicalType.double
        ? doubleRange(new Float64Array(buffer, byteOffset + 8 * from, count))
        : int64Range(values.halves, from, to);
    }
  }
}

/** Returns the range that covers both ranges. */
export function joinedStatistics(a: RangeStatistics, b: RangeStatistics): RangeStatistics {
  const hasNaN = a.hasNaN || b.hasNaN;
  if (a.minMax === undefined || b.minMax === undefined)
    return { minMax: a.minMax ?? b.minMax, hasNaN };
  const min = compareBounds(b.minMax.min, a.minMax.min) < 0 ? b.minMax.min : a.minMax.min;
  const max = compareBounds(b.minMax.max, a.minMax.max) > 0 ? b.minMax.max : a.minMax.max;
  return { minMax: { min, max }, hasNaN };
}

function booleanRange(all: Int32Array): RangeStatistics {
  const minMax = { min: all.includes(0) ? 0 : 1, max: all.includes(1) ? 1 : 0 };
  return { minMax, hasNaN: false };
}

function int32Range(int32s: Int32Array, from: number, to: number): RangeStatistics {
  let min = int32s[from]!;
  let max = min;
  for (let i = from + 1; i < to; i++) {
    const value = int32s[i]!;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return { minMax: { min, max }, hasNaN: false };
}

/**
 * Returns the extreme values of floats. This function and `doubleRange` see one kind of typed array each, which keeps their loops fast.
 */
function floatRange(values: Float32Array): RangeStatistics {
  let min = Infinity;
  let max = -Infinity;
  let hasNaN = false;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value < min) min = value;
    if (value > max) max = value;
    if (value !== value) hasNaN = true;
  }
  return { minMax: minMaxWithSignedZeros(min, max), hasNaN };
}

function doubleRange(values: Float64Array): RangeStatistics {
  let min = Infinity;
  let max = -Infinity;
  let hasNaN = false;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value < min) min = value;
    if (value > max) max = value;
    if (value !== value) hasNaN = true;
  }
  return { minMax: minMaxWithSignedZeros(min, max), hasNaN };
}

/**
 * Returns the extremes with the signs of zero that Parquet requires: a minimum of zero becomes -0, and a maximum of zero becomes +0
 * (parquet.thrift, `ColumnOrder`, floating point).
 */
function minMaxWithSignedZeros(min: number, max: number): MinMax | undefined {
  if (min > max) return undefined; // all values are NaN
  return { min: min === 0 ? -0 : min, max: max === 0 ? 0 : max };
}

function int64Range(halves: Int32Array, from: number, to: number): RangeStatistics {
  let minLow = halves[2 * from]! >>> 0;
  let minHigh = halves[2 * from + 1]!;
  let maxLow = minLow;
  let maxHigh = minHigh;
  for (let i = 2 * from + 2; i < 2 * to; i += 2) {
    const low = halves[i]! >>> 0;
    const high = halves[i + 1]!;
    if (high < minHigh || (high === minHigh && low < minLow)) {
      minHigh = high;
      minLow = low;
    }
    if (high > maxHigh || (high === maxHigh && low > maxLow)) {
      maxHigh = high;
      maxLow = low;
    }
  }
  return {
    minMax: { min: int64Of(minLow, minHigh), max: int64Of(maxLow, maxHigh) },
    hasNaN: false,
  };
}

function int64Of(low: number, high: number): bigint {
  return BigInt(high) * 0x1_0000_0000n + BigInt(low);
}

/** Returns the extremes of the strings `from` to `to`, compared as unsigned bytes. */
export function stringRange(strings: Strings, from: number, to: number): RangeStatistics {
  const { view, offsets } = strings;
  if (from === to) return noStatistics;
  let min = from;
  let max = from;
  for (let at = from + 1; at < to; at++) {
    // The maximum is tested first: in a strictly ascending column, the comparison with the minimum then never runs.
    if (compareStrings(view, offsets, at, max) > 0) max = at;
    else if (compareStrings(view, offsets, at, min) < 0) min = at;
  }
  return minMaxOf(strings, min, max);
}

/**
 * Returns a function that gives the extremes of the strings `from` to `to` of a dictionary-encoded column. Each call examines a distinct
 * string at most once.
 */
export function dictionaryRanges(
  strings: Strings,
  { firsts, indices, entryCount }: DictionaryEncoding,
): (from: number, to: number) => RangeStatistics {
  const { view, offsets } = strings;
  /** For each dictionary entry, the number of the last call that has seen it. */
  const lastCallOf = new Int32Array(entryCount);
  let call = 0;
  return (from, to) => {
    if (from === to) return noStatistics;
    call++;
    let min = firsts[indices[from]!]!;
    let max = min;
    let entriesLeft = entryCount;
    for (let i = from; i < to && entriesLeft > 0; i++) {
      const entry = indices[i]!;
      if (lastCallOf[entry] === call) continue;
      lastCallOf[entry] = call;
      entriesLeft--;
      const at = firsts[entry]!;
      if (compareStrings(view, offsets, at, max) > 0) max = at;
      else if (compareStrings(view, offsets, at, min) < 0) min = at;
    }
    return minMaxOf(strings, min, max);
  };
}

function minMaxOf({ bytes, offsets }: Strings, min: number, max: number): RangeStatistics {
  const string = (i: number) => bytes.subarray(offsets[i]!, offsets[i + 1]!);
  return { minMax: { min: string(min), max: string(max) }, hasNaN: false };
}

/** Compares strings four bytes at a time: big-endian numbers have the same order as their bytes. */
function compareStrings(view: DataView, offsets: Int32Array, a: number, b: number): number {
  let p = offsets[a]!;
  let q = offsets[b]!;
  const endA = offsets[a + 1]!;
  const size = endA - p;
  const sizeB = offsets[b + 1]! - q;
  const end = p + (size < sizeB ? size : sizeB);
  for (; p + 4 <= end; p += 4, q += 4) {
    const x = view.getUint32(p);
    const y = view.getUint32(q);
    if (x !== y) return x < y ? -1 : 1;
  }
  for (; p < end; p++, q++) {
    const x = view.getUint8(p);
    const y = view.getUint8(q);
    if (x !== y) return x - y;
  }
  return size - sizeB;
}

/** Returns a negative number, zero or a positive number if `a` is less than, equal to or greater than `b`. */
export function compareBounds(a: Bound, b: Bound): number {
  if (typeof a === 'object' && typeof b === 'object') return Buffer.compare(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}
