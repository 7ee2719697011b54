import { physicalType, type ParquetLeaf } from './schema.js';
import type { Flags, Pairs, Texts, Words } from './values.js';

/** A value as Parquet orders it: 64-bit integers as bigints, text as its bytes. */
export type Bound = number | bigint | Uint8Array;

/** The extremes of a leaf's values. */
export interface Extremes {
  readonly min: Bound;
  readonly max: Bound;
}

/** Are there values that are not a number? They have no place in the order, and take part in no bound. */
export interface Range {
  readonly extremes: Extremes | undefined;
  readonly hasNaN: boolean;
}

const nothing: Range = { extremes: undefined, hasNaN: false };

/** The extremes of numbers, in the order of their type (`ColumnOrder` in parquet.thrift). */
export function rangeOf(leaf: ParquetLeaf, values: Flags | Words | Pairs): Range {
  const { count } = values;
  if (count === 0) return nothing;
  switch (values.kind) {
    case 'flags':
      return flagRange(values.flags, count);
    case 'words':
      return leaf.physical === physicalType.float
        ? floatRange(new Float32Array(values.words.buffer, values.words.byteOffset, count))
        : integerRange(values.words, count);
    case 'pairs':
      return leaf.physical === physicalType.double
        ? doubleRange(new Float64Array(values.pairs.buffer, values.pairs.byteOffset, count))
        : longRange(values.pairs, count);
  }
}

function flagRange(flags: Int32Array, count: number): Range {
  const all = flags.subarray(0, count);
  const extremes = { min: all.includes(0) ? 0 : 1, max: all.includes(1) ? 1 : 0 };
  return { extremes, hasNaN: false };
}

function integerRange(words: Int32Array, count: number): Range {
  let min = words[0]!;
  let max = min;
  for (let i = 1; i < count; i++) {
    const value = words[i]!;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return { extremes: { min, max }, hasNaN: false };
}

/** The same loop twice, for one that sees two kinds of arrays is slower. */
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

/** A bound of zero stands for both zeros (parquet.thrift, `TypeDefinedOrder`). */
function signedZeros(min: number, max: number): Extremes | undefined {
  if (min > max) return undefined; // nothing but NaN
  return { min: min === 0 ? -0 : min, max: max === 0 ? 0 : max };
}

function longRange(pairs: Int32Array, count: number): Range {
  let minLow = pairs[0]! >>> 0;
  let minHigh = pairs[1]!;
  let maxLow = minLow;
  let maxHigh = minHigh;
  for (let i = 2; i < 2 * count; i += 2) {
    const low = pairs[i]! >>> 0;
    const high = pairs[i + 1]!;
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
    extremes: { min: wholeOf(minLow, minHigh), max: wholeOf(maxLow, maxHigh) },
    hasNaN: false,
  };
}

function wholeOf(low: number, high: number): bigint {
  return BigInt(high) * 0x1_0000_0000n + BigInt(low);
}

/** The extremes of texts, as unsigned bytes; of those at the given places, if there are any given. */
export function textRange(texts: Texts, places?: Int32Array): Range {
  const { count, view, bytes, offsets } = texts;
  if (count === 0) return nothing;
  let min = places === undefined ? 0 : places[0]!;
  let max = min;
  const end = places === undefined ? count : places.length;
  for (let i = 1; i < end; i++) {
    const at = places === undefined ? i : places[i]!;
    // First the upper one: in rising columns that is all.
    if (compareTexts(view, offsets, at, max) > 0) max = at;
    else if (compareTexts(view, offsets, at, min) < 0) min = at;
  }
  const text = (i: number) => bytes.subarray(offsets[i]!, offsets[i + 1]!);
  return { extremes: { min: text(min), max: text(max) }, hasNaN: false };
}

/** Big-endian words compare as their bytes do: a few steps for texts with a long common beginning. */
function compareTexts(view: DataView, offsets: Int32Array, a: number, b: number): number {
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

/** Negative, zero or positive, as `a` is before, equal to or after `b`. */
export function compareBounds(a: Bound, b: Bound): number {
  if (typeof a === 'object' && typeof b === 'object') return Buffer.compare(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}
