import type { LeafStats } from '../../store/store.js';
import type { FieldRef, Scalar } from './predicate.js';

/**
 * The smallest or largest value of a column: as the statistics of the log have it, or, of a page, whole numbers and microseconds as
 * bigints and strings as UTF-8.
 */
export type Statistic = NonNullable<LeafStats['min']> | bigint | Uint8Array;

/** The values from one to another, undefined where the span is open, and whether each end is among them. */
export type ValueRange<T> = readonly [
  from: T | undefined,
  to: T | undefined,
  includesFrom: boolean,
  includesTo: boolean,
];

/**
 * Returns a function from a column's smallest and largest value that is false only if none of the spans, which ascend and do not overlap, holds a
 * value between them; undefined if the type has no order, or no spans are known.
 */
export function boundsTest(
  type: FieldRef['type'],
  spansOf: <T>(order: Order<T>) => readonly ValueRange<T>[] | undefined,
): ((min: Statistic, max: Statistic) => boolean) | undefined {
  const order = orderOf(type);
  const spans = order && spansOf(order);
  if (order === undefined || spans === undefined) return undefined;
  return (min, max) => {
    const low = order.lower(min);
    const high = order.upper(max);
    if (low === undefined || high === undefined) return true;
    const first = firstIndex(spans.length, (i) => {
      const [, to, , includesTo] = spans[i]!;
      return to === undefined || !isBefore(order, to, low, includesTo);
    });
    if (first === spans.length) return false;
    const [from, , includesFrom] = spans[first]!;
    return from === undefined || !isBefore(order, high, from, includesFrom);
  };
}

/** The first index from which on the test holds, by a binary search; `count` if it never does. */
export function firstIndex(count: number, holds: (index: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The same for strings, from a test of the bounds themselves. */
export function stringsTest(
  between: ((low: Buffer, high: Buffer) => boolean) | undefined,
): ((min: Statistic, max: Statistic) => boolean) | undefined {
  return (
    between &&
    ((min, max) => {
      const low = strings.lower(min);
      const high = strings.upper(max);
      return low === undefined || high === undefined || between(low, high);
    })
  );
}

/** True if `a` is less than `b`, or equal to it and the end is excluded. */
function isBefore<T>(order: Order<T>, a: T, b: T, isIncluded: boolean): boolean {
  const sign = order.compare(a, b);
  return sign < 0 || (sign === 0 && !isIncluded);
}

/** The order of a type's values, and the form in which values and statistics are compared; undefined where there is none. */
export interface Order<T> {
  value(value: Scalar): T | undefined;
  lower(statistic: Statistic): T | undefined;
  upper(statistic: Statistic): T | undefined;
  compare(a: T, b: T): number;
}

function orderOf(type: FieldRef['type']): Order<unknown> | undefined {
  switch (type) {
    case 'string':
    case 'text':
      return strings as Order<unknown>;
    case 'integer':
    case 'long':
      return longs as Order<unknown>;
    case 'date':
      return dates as Order<unknown>;
    case 'double':
      return doubles as Order<unknown>;
    case 'float':
      return floats as Order<unknown>;
    default:
      return undefined; // booleans have no statistics, and values of other types have no order
  }
}

/** The suffix that stats.ts appends to an upper statistic that it has shortened: it sorts after whatever was cut off. */
export const aboveAllStrings = '\u{10FFFF}';

/** The order of strings: their bytes in UTF-8. */
export const strings: Order<Buffer> = {
  value: (value) =>
    typeof value === 'string' && value.isWellFormed() ? Buffer.from(value) : undefined,
  lower: (statistic) => {
    if (typeof statistic === 'object') return asBuffer(statistic);
    return typeof statistic === 'string' ? Buffer.from(statistic) : undefined;
  },
  upper: (statistic) => {
    if (typeof statistic === 'object') return asBuffer(statistic);
    if (typeof statistic !== 'string' || !statistic.isWellFormed()) return undefined;
    if (!statistic.endsWith(aboveAllStrings)) return Buffer.from(statistic);
    const text = statistic.slice(0, -aboveAllStrings.length);
    const bytes = Buffer.allocUnsafe(Buffer.byteLength(text) + 1);
    bytes.write(text);
    // Sorts after every byte of UTF-8.
    bytes[bytes.length - 1] = 0xff;
    return bytes;
  },
  compare: (a, b) => Buffer.compare(a, b),
};

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

const numeric = <T extends bigint | number>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

const longOf = (statistic: Statistic): bigint | undefined => {
  if (typeof statistic === 'bigint') return statistic;
  if (Number.isSafeInteger(statistic)) return BigInt(statistic as number);
  const text = typeof statistic === 'boolean' ? '' : String(statistic);
  return /^-?\d+$/.test(text) ? BigInt(text) : undefined;
};
/** The order of whole numbers. */
export const longs: Order<bigint> = {
  value: (value) => (typeof value === 'bigint' ? value : undefined),
  lower: longOf,
  upper: longOf,
  compare: numeric,
};

/** Statistics of the log have milliseconds, rounded away from the values. */
const dateOf = (statistic: Statistic): bigint | undefined => {
  if (typeof statistic === 'bigint') return statistic;
  const millis = typeof statistic === 'string' ? Date.parse(statistic) : NaN;
  return Number.isNaN(millis) ? undefined : BigInt(millis) * 1000n;
};
const dates: Order<bigint> = {
  value: (value) => (typeof value === 'bigint' ? value : undefined),
  lower: dateOf,
  upper: dateOf,
  compare: numeric,
};

const doubleOf = (statistic: Scalar | Statistic): number | undefined =>
  typeof statistic === 'number' && !Number.isNaN(statistic) ? statistic : undefined;
const doubles: Order<number> = {
  value: doubleOf,
  lower: doubleOf,
  upper: doubleOf,
  compare: numeric,
};

/** Values are rounded to 32 bits, as both executors round them before they compare. */
const floats: Order<number> = {
  ...doubles,
  value: (value) => (typeof value === 'number' ? doubleOf(Math.fround(value)) : undefined),
};
