import { physicalType, type ParquetLeaf } from './schema.js';
import type { Booleans, Int32s, Int64s, Strings } from './values.js';

/** A lower or upper bound in the order of its type: 64-bit integers are bigints, strings are their bytes. */
export type Bound = number | bigint | Uint8Array;

/** The smallest and the largest value. */
export interface Extremes {
  readonly min: Bound;
  readonly max: Bound;
}

/** The extremes of the values that have an order; NaN has none, and is in no bound. */
export interface Range {
  readonly extremes: Extremes | undefined;
  readonly hasNaN: boolean;
}

const empty: Range = { extremes: undefined, hasNaN: false };

/** The extremes of numbers and booleans in the order of their type (parquet.thrift, `ColumnOrder`). */
export function rangeOf(leaf: ParquetLeaf, values: Booleans | Int32s | Int64s): Range {
  const { count } = values;
  if (count === 0) return empty;
  switch (values.kind) {
    case 'booleans':
      return booleanRange(values.booleans, count);
    case 'int32s':
      return leaf.physical === physicalType.float
        ? floatRange(new Float32Array(values.int32s.buffer, values.int32s.byteOffset, count))
        : int32Range(values.int32s, count);
    case 'int64s':
      return leaf.physical === physicalType.double
        ? doubleRange(new Float64Array(values.halves.buffer, values.halves.byteOffset, count))
        : int64Range(values.halves, count);
  }
}

function booleanRange(booleans: Int32Array, count: number): Range {
  const all = booleans.subarray(0, count);
  const extremes = { min: all.includes(0) ? 0 : 1, max: all.includes(1) ? 1 : 0 };
  return { extremes, hasNaN: false };
}

function int32Range(int32s: Int32Array, count: number): Range {
  let min = int32s[0]!;
  let max = min;
  for (let i = 1; i < count; i++) {
    const value = int32s[i]!;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return { extremes: { min, max }, hasNaN: false };
}

/** The same as `doubleRange`: one loop that sees two kinds of typed array is slower. */
function floatRange(values: Float32Array): Range {
  let min = Infinity;
  let max = -Infinity;
  let hasNaN = false;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value < min) min = value;
    if (value > max) max = value;
    if (value !== value) hasNaN = true;
  }
  return { extremes: signedZeros(min, max), hasNaN };
}

function doubleRange(values: Float64Array): Range {
  let min = Infinity;
  let max = -Infinity;
  let hasNaN = false;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value < min) min = value;
    if (value > max) max = value;
    if (value !== value) hasNaN = true;
  }
  return { extremes: signedZeros(min, max), hasNaN };
}

/** A minimum of zero is written as -0 and a maximum of zero as +0 (parquet.thrift, `ColumnOrder`, floating point). */
function signedZeros(min: number, max: number): Extremes | undefined {
  if (min > max) return undefined; // nothing but NaN
  return { min: min === 0 ? -0 : min, max: max === 0 ? 0 : max };
}

function int64Range(halves: Int32Array, count: number): Range {
  let minLow = halves[0]! >>> 0;
  let minHigh = halves[1]!;
  let maxLow = minLow;
  let maxHigh = minHigh;
  for (let i = 2; i < 2 * count; i += 2) {
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
    extremes: { min: int64Of(minLow, minHigh), max: int64Of(maxLow, maxHigh) },
    hasNaN: false,
  };
}

function int64Of(low: number, high: number): bigint {
  return BigInt(high) * 0x1_0000_0000n + BigInt(low);
}

/** The extremes of strings, compared as unsigned bytes: of all, or of those with the indices `only`. */
export function stringRange(strings: Strings, only?: Int32Array): Range {
  const { count, view, bytes, offsets } = strings;
  if (count === 0) return empty;
  let min = only === undefined ? 0 : only[0]!;
  let max = min;
  const end = only === undefined ? count : only.length;
  for (let i = 1; i < end; i++) {
    const at = only === undefined ? i : only[i]!;
    // The maximum first: in an ascending column the second comparison never runs.
    if (compareStrings(view, offsets, at, max) > 0) max = at;
    else if (compareStrings(view, offsets, at, min) < 0) min = at;
  }
  const string = (i: number) => bytes.subarray(offsets[i]!, offsets[i + 1]!);
  return { extremes: { min: string(min), max: string(max) }, hasNaN: false };
}

/** Compares four bytes at a time: read as big-endian numbers they have the order of their bytes. */
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

/** Negative, zero or positive if `a` is less than, equal to or greater than `b`. */
export function compareBounds(a: Bound, b: Bound): number {
  if (typeof a === 'object' && typeof b === 'object') return Buffer.compare(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}
