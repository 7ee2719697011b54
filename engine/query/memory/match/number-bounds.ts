import type { RangeEnd, FieldRef, OfKind, Scalar } from '../../predicate/predicate.js';

/** The numbers from one to another, both included. */
export interface NumberRange<T> {
  readonly from: T;
  readonly to: T;
}

/** True for the types whose values are bigints in a predicate. */
export function isWhole(type: FieldRef['type']): boolean {
  return type === 'integer' || type === 'long' || type === 'date';
}

const smallestLong = -(2n ** 63n);
const largestLong = 2n ** 63n - 1n;
/** Doubles hold whole numbers up to this size exactly. */
const exactLimit = 2n ** 53n;

/** The whole numbers of a range. */
export function wholeSpan({ low, high }: OfKind<'range'>): NumberRange<bigint> {
  const step = (bound: RangeEnd): bigint => (bound.inclusive ? 0n : 1n);
  return {
    from: low ? (low.value as bigint) + step(low) : smallestLong,
    to: high ? (high.value as bigint) - step(high) : largestLong,
  };
}

/** The 32-bit integers of a range; undefined if it holds none. */
export function integerSpan({ from, to }: NumberRange<bigint>): NumberRange<number> | undefined {
  if (from > to || from > 0x7fff_ffffn || to < -0x8000_0000n) return undefined;
  return { from: Math.max(Number(from), -0x8000_0000), to: Math.min(Number(to), 0x7fff_ffff) };
}

/** The range as doubles, for a column whose integers lie within ±2^53; undefined if it holds no such integer. */
export function spanWithinSafeIntegers({
  from,
  to,
}: NumberRange<bigint>): NumberRange<number> | undefined {
  if (from > to || from > exactLimit || to < -exactLimit) return undefined;
  return {
    from: from < -exactLimit ? -Infinity : Number(from),
    to: to > exactLimit ? Infinity : Number(to),
  };
}

/** The finite doubles of a range; its bounds are first rounded to the field's type. */
export function doubleSpan({ field, low, high }: OfKind<'range'>): NumberRange<number> {
  const from = low ? floating(field, low.value) : -Infinity;
  const to = high ? floating(field, high.value) : Infinity;
  return {
    from: low && !low.inclusive ? adjacentDouble(from, 1) : from,
    to: high && !high.inclusive ? adjacentDouble(to, -1) : to,
  };
}

/** The 32-bit whole numbers in a span of doubles. */
export function int32sIn({ from, to }: NumberRange<number>): NumberRange<number> {
  return {
    from: Math.max(Math.ceil(from), -0x8000_0000),
    to: Math.min(Math.floor(to), 0x7fff_ffff),
  };
}

/** The value rounded to the field's type. */
export function floating(field: FieldRef, value: Scalar): number {
  return field.type === 'float' ? Math.fround(value as number) : (value as number);
}

const double = new Float64Array(1);
const bits = new BigInt64Array(double.buffer);

/** The next double above (1) or below (-1); NaN beyond an infinity, so that the span is empty. */
function adjacentDouble(value: number, direction: 1 | -1): number {
  if (value === Infinity * direction) return NaN;
  if (value === 0) return Number.MIN_VALUE * direction;
  double[0] = value;
  bits[0]! += value > 0 === (direction === 1) ? 1n : -1n;
  return double[0];
}
