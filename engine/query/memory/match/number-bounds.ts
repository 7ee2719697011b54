import type { RangeEnd, FieldRef, PredicateOfKind, Scalar } from '../../predicate/predicate.js';

/** The numbers from `from` to `to`, both included. */
export interface NumberRange<T> {
  readonly from: T;
  readonly to: T;
}

/** Returns true for the types whose values are bigints in a predicate. */
export function isIntegerType(type: FieldRef['type']): boolean {
  return type === 'integer' || type === 'long' || type === 'date';
}

const minLong = -(2n ** 63n);
const largestLong = 2n ** 63n - 1n;
/** The magnitude up to which doubles hold all whole numbers exactly. */
const maxExactInteger = 2n ** 53n;

/** Returns the range of the whole numbers in a range; empty if `from` is greater than `to`. */
export function integersOfRange({ low, high }: PredicateOfKind<'range'>): NumberRange<bigint> {
  const step = (bound: RangeEnd): bigint => (bound.inclusive ? 0n : 1n);
  return {
    from: low ? (low.value as bigint) + step(low) : minLong,
    to: high ? (high.value as bigint) - step(high) : largestLong,
  };
}

/** Returns the range of the 32-bit integers in a range; undefined if there are none. */
export function int32sOfRange({ from, to }: NumberRange<bigint>): NumberRange<number> | undefined {
  if (from > to || from > 0x7fff_ffffn || to < -0x8000_0000n) return undefined;
  return { from: Math.max(Number(from), -0x8000_0000), to: Math.min(Number(to), 0x7fff_ffff) };
}

/** Returns the range as doubles, for a column whose integers lie within ±2^53; undefined if no such integer is in the range. */
export function safeIntegersOfRange({
  from,
  to,
}: NumberRange<bigint>): NumberRange<number> | undefined {
  if (from > to || from > maxExactInteger || to < -maxExactInteger) return undefined;
  return {
    from: from < -maxExactInteger ? -Infinity : Number(from),
    to: to > maxExactInteger ? Infinity : Number(to),
  };
}

/** Returns a range as doubles, for a column without NaN and infinities. The bounds are first rounded to the field's type. */
export function doublesOfRange({
  field,
  low,
  high,
}: PredicateOfKind<'range'>): NumberRange<number> {
  const from = low ? roundToFieldType(field, low.value) : -Infinity;
  const to = high ? roundToFieldType(field, high.value) : Infinity;
  return {
    from: low && !low.inclusive ? adjacentDouble(from, 1) : from,
    to: high && !high.inclusive ? adjacentDouble(to, -1) : to,
  };
}

/** Returns the range of the 32-bit integers in a range of doubles. */
export function int32sWithinDoubles({ from, to }: NumberRange<number>): NumberRange<number> {
  return {
    from: Math.max(Math.ceil(from), -0x8000_0000),
    to: Math.min(Math.floor(to), 0x7fff_ffff),
  };
}

export function roundToFieldType(field: FieldRef, value: Scalar): number {
  return field.type === 'float' ? Math.fround(value as number) : (value as number);
}

const doubleBuffer = new Float64Array(1);
const doubleBits = new BigInt64Array(doubleBuffer.buffer);

/** Returns the next double above (1) or below (-1) a value; NaN beyond an infinity, so that the range becomes empty. */
function adjacentDouble(value: number, direction: 1 | -1): number {
  if (value === Infinity * direction) return NaN;
  if (value === 0) return Number.MIN_VALUE * direction;
  doubleBuffer[0] = value;
  doubleBits[0]! += value > 0 === (direction === 1) ? 1n : -1n;
  return doubleBuffer[0];
}
