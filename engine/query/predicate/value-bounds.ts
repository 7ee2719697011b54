import type { LeafStats } from '../../store/store.js';
import type { FieldRef, Scalar } from './predicate.js';

/**
 * The smallest or largest value of a column, in the form of the log's statistics or, for a page, with whole numbers and microseconds as
 * bigints and strings as UTF-8.
 */
export type BoundStatistic = NonNullable<LeafStats['min']> | bigint | Uint8Array;

/** A range of values: its ends, undefined where the range is open, and whether each end is included. */
export type ValueRange<T> = readonly [
  from: T | undefined,
  to: T | undefined,
  includesFrom: boolean,
  includesTo: boolean,
];

/**
 * Returns a test of a column's smallest and largest value that is false only if none of the ranges, which ascend and do not overlap,
 * contains a value between them. Undefined if the type has no order, or if no ranges are known.
 */
export function boundsTest(
  type: FieldRef['type'],
  spansOf: <T>(order: BoundOrder<T>) => readonly ValueRange<T>[] | undefined,
): ((min: BoundStatistic, max: BoundStatistic) => boolean) | undefined {
  const order = boundOrderOf(type);
  const spans = order && spansOf(order);
  if (order === undefined || spans === undefined) return undefined;
  return (min, max) => {
    const low = order.lower(min);
    const high = order.upper(max);
    if (low === undefined || high === undefined) return true;
    const first = firstIndexWhere(spans.length, (i) => {
      const [, to, , includesTo] = spans[i]!;
      return to === undefined || !isBefore(order, to, low, includesTo);
    });
    if (first === spans.length) return false;
    const [from, , includesFrom] = spans[first]!;
    return from === undefined || !isBefore(order, high, from, includesFrom);
  };
}

/** Returns the first index from which on `holds` is true, found by binary search; `count` if it never is. */
export function firstIndexWhere(count: number, holds: (index: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** A bound of strings: a string, or its UTF-8 bytes. */
export type StringBound = string | Uint8Array;

/** Returns the same test as `boundsTest` for strings, based on a function that compares bounds directly. */
export function stringBoundsTest(
  between: ((low: StringBound, high: StringBound) => boolean) | undefined,
): ((min: BoundStatistic, max: BoundStatistic) => boolean) | undefined {
  return between && ((min, max) => !isStringBound(min) || !isStringBound(max) || between(min, max));
}

/** Returns whether a bound is one of strings. */
export function isStringBound(bound: BoundStatistic | undefined): bound is StringBound {
  return typeof bound === 'string' || typeof bound === 'object';
}

/** Returns true if `a` is less than `b`; also if both are equal, unless `isIncluded`. */
function isBefore<T>(order: BoundOrder<T>, a: T, b: T, isIncluded: boolean): boolean {
  const sign = order.compare(a, b);
  return sign < 0 || (sign === 0 && !isIncluded);
}

/**
 * The order of a type's values. `value`, `lower` and `upper` convert values and statistics to the form that is compared; undefined if that
 * is impossible.
 */
export interface BoundOrder<T> {
  value(value: Scalar): T | undefined;
  lower(statistic: BoundStatistic): T | undefined;
  upper(statistic: BoundStatistic): T | undefined;
  compare(a: T, b: T): number;
}

/** Returns the order of a type's values; undefined if the type has none. */
export function boundOrderOf(type: FieldRef['type']): BoundOrder<unknown> | undefined {
  switch (type) {
    case 'string':
    case 'text':
      return stringOrder as BoundOrder<unknown>;
    case 'integer':
    case 'long':
      return longOrder as BoundOrder<unknown>;
    case 'date':
      return dateOrder as BoundOrder<unknown>;
    case 'double':
      return doubleOrder as BoundOrder<unknown>;
    case 'float':
      return floatOrder as BoundOrder<unknown>;
    default:
      return undefined; // statistics have no bounds of booleans, and values of other types have no order
  }
}

/** The suffix that `segmentStats` appends to an upper bound that it has shortened: it sorts after any removed characters. */
export const aboveAllStrings = '\u{10FFFF}';

/** Returns whether an upper bound of the log's statistics is only the beginning of the largest string. */
export function isShortened(upperBound: string): boolean {
  return upperBound.endsWith(aboveAllStrings);
}

/** The order of strings: by their bytes in UTF-8. */
export const stringOrder: BoundOrder<Buffer> = {
  value: (value) =>
    typeof value === 'string' && value.isWellFormed() ? Buffer.from(value) : undefined,
  lower: (statistic) => {
    if (typeof statistic === 'object') return asBuffer(statistic);
    return typeof statistic === 'string' ? Buffer.from(statistic) : undefined;
  },
  upper: (statistic) => {
    if (typeof statistic === 'object') return asBuffer(statistic);
    if (typeof statistic !== 'string' || !statistic.isWellFormed()) return undefined;
    if (!isShortened(statistic)) return Buffer.from(statistic);
    const text = statistic.slice(0, -aboveAllStrings.length);
    const bytes = Buffer.allocUnsafe(Buffer.byteLength(text) + 1);
    bytes.write(text);
    // The byte 0xff sorts after every byte that occurs in UTF-8.
    bytes[bytes.length - 1] = 0xff;
    return bytes;
  },
  compare: (a, b) => Buffer.compare(a, b),
};

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

const compareNumbers = <T extends bigint | number>(a: T, b: T): number =>
  a < b ? -1 : a > b ? 1 : 0;

const longOfStatistic = (statistic: BoundStatistic): bigint | undefined => {
  if (typeof statistic === 'bigint') return statistic;
  if (Number.isSafeInteger(statistic)) return BigInt(statistic as number);
  const text = typeof statistic === 'boolean' ? '' : String(statistic);
  return /^-?\d+$/.test(text) ? BigInt(text) : undefined;
};
/** The order of whole numbers. */
export const longOrder: BoundOrder<bigint> = {
  value: (value) => (typeof value === 'bigint' ? value : undefined),
  lower: longOfStatistic,
  upper: longOfStatistic,
  compare: compareNumbers,
};

/** Statistics of the log have milliseconds, with the minimum rounded down and the maximum rounded up. */
const dateOfStatistic = (statistic: BoundStatistic): bigint | undefined => {
  if (typeof statistic === 'bigint') return statistic;
  const millis = typeof statistic === 'string' ? Date.parse(statistic) : NaN;
  return Number.isNaN(millis) ? undefined : BigInt(millis) * 1000n;
};
const dateOrder: BoundOrder<bigint> = {
  value: (value) => (typeof value === 'bigint' ? value : undefined),
  lower: dateOfStatistic,
  upper: dateOfStatistic,
  compare: compareNumbers,
};

const doubleOfStatistic = (statistic: Scalar | BoundStatistic): number | undefined =>
  typeof statistic === 'number' && !Number.isNaN(statistic) ? statistic : undefined;
const doubleOrder: BoundOrder<number> = {
  value: doubleOfStatistic,
  lower: doubleOfStatistic,
  upper: doubleOfStatistic,
  compare: compareNumbers,
};

/** The value that a predicate compares is rounded to a 32-bit float, as it is before a query compares it with stored floats. */
const floatOrder: BoundOrder<number> = {
  ...doubleOrder,
  value: (value) => (typeof value === 'number' ? doubleOfStatistic(Math.fround(value)) : undefined),
};
