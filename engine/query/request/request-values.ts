import type { StoredType } from '../../core/types.js';
import type { Scalar } from '../predicate/predicate.js';
import { Problem, valueForMessage } from './problem.js';

/** A number of a request. A whole number is a bigint, which is exact. */
type RequestNumber = bigint | number;

/** A half-open interval of time in microseconds since 1970, without `end`: a whole day, or one microsecond. */
interface DateInterval {
  readonly start: bigint;
  readonly end: bigint;
}

/** Returns the smallest and largest value of a whole-number type. */
export function typeLimits(type: StoredType | 'auto'): readonly [bigint, bigint] {
  return type === 'integer' ? [-(2n ** 31n), 2n ** 31n - 1n] : [-(2n ** 63n), 2n ** 63n - 1n];
}

/** Converts a value for comparison with a string field; a number becomes its text. */
export function readText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value)))
    return String(value);
  throw new Problem(`Expected text, not ${valueForMessage(value)}`);
}

/** Returns a number, or the number that a string spells. Throws a `Problem` for anything else. */
export function readNumber(value: unknown): RequestNumber {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return bigintIfInteger(value);
  const decimal = typeof value === 'string' ? parseDecimal(value.trim()) : undefined;
  if (decimal === undefined) throw new Problem(`Expected a number, not ${valueForMessage(value)}`);
  const { digits, scale } = decimal;
  const unit = 10n ** BigInt(scale);
  return digits % unit === 0n ? digits / unit : Number((value as string).trim());
}

/** Returns the largest whole number that is not greater than the number of a request, exact for strings. */
export function readFloor(value: unknown): bigint {
  const decimal = typeof value === 'string' ? parseDecimal(value.trim()) : undefined;
  if (decimal === undefined) return BigInt(Math.floor(Number(value)));
  const unit = 10n ** BigInt(decimal.scale);
  const quotient = decimal.digits / unit;
  return decimal.digits < 0n && decimal.digits % unit !== 0n ? quotient - 1n : quotient;
}

/**
 * Parses a string as `digits / 10^scale`. Undefined if it spells no number, has more than 400 characters, or has a point or an exponent and
 * exceeds the range of doubles.
 */
function parseDecimal(
  text: string,
): { readonly digits: bigint; readonly scale: number } | undefined {
  const match = /^([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d{1,9}))?$/.exec(text);
  if (!match || text.length > 400) return undefined;
  const [, sign, whole = '', fraction = match[4] ?? '', , exponent] = match;
  const isPlain = !text.includes('.') && exponent === undefined;
  if (!isPlain && !Number.isFinite(Number(text))) return undefined;
  const size = BigInt(whole + fraction) * (sign === '-' ? -1n : 1n);
  const scale = fraction.length - Number(exponent ?? 0);
  if (size === 0n) return { digits: 0n, scale: 0 };
  if (scale <= 0) return { digits: size * 10n ** BigInt(-scale), scale: 0 };
  // A value with a greater scale is smaller than every positive double, and still is with the scale 2,000.
  return scale > 2_000 ? { digits: size, scale: 2_000 } : { digits: size, scale };
}

/** Converts a number to the form in which a field of this type stores it, so that 0.1 matches a stored 32-bit 0.1. */
export function roundToFieldType(type: StoredType | 'auto', value: RequestNumber): number {
  return type === 'float' ? Math.fround(Number(value)) : Number(value);
}

/** Returns a boolean, also from the string `true` or `false`. Throws a `Problem` for anything else. */
function readBoolean(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  const word = typeof value === 'string' ? value.toLowerCase() : '';
  if (word === 'true') return true;
  if (word === 'false') return false;
  throw new Problem(`Expected true or false, not ${valueForMessage(value)}`);
}

/**
 * Returns the interval of a date: the whole day for a date without time, one instant for a date with time. Without an offset, the time is
 * UTC.
 */
export function readDateInterval(value: unknown): DateInterval {
  const match = typeof value === 'string' ? datePattern.exec(value.trim()) : null;
  if (!match)
    throw new Problem(
      `Expected a date like 2016-05-01 or 2016-05-01T12:30:00, not ${valueForMessage(value)}`,
    );
  const [, year, month, day, hour, minute, second, fraction, offset] = match;
  const midnight = Date.UTC(2000, Number(month) - 1, Number(day));
  const date = new Date(midnight);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) {
    throw new Problem(`There is no date ${valueForMessage(value)}`);
  }
  const dayStart = BigInt(date.getTime()) * 1000n;
  if (hour === undefined) return { start: dayStart, end: dayStart + dayMicros };
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second ?? 0) > 59) {
    throw new Problem(`There is no time ${valueForMessage(value)}`);
  }
  const seconds = BigInt(hour) * 3600n + BigInt(minute!) * 60n + BigInt(second ?? 0);
  const micros = BigInt((fraction ?? '').slice(0, 6).padEnd(6, '0'));
  const start = dayStart + seconds * 1_000_000n + micros - offsetMicros(offset);
  return { start, end: start + 1n };
}

/** Converts a value of an exact comparison to the form of the field's type; undefined if no stored value can equal it. */
export function readScalar(type: StoredType, value: unknown): Scalar | undefined {
  if (type === 'boolean') return readBoolean(value);
  if (type === 'double' || type === 'float') {
    const number = roundToFieldType(type, readNumber(value));
    return Number.isFinite(number) ? number : undefined;
  }
  if (type === 'integer' || type === 'long') {
    const number = readNumber(value);
    const [smallest, largest] = typeLimits(type);
    return typeof number === 'bigint' && number >= smallest && number <= largest
      ? number
      : undefined;
  }
  return readText(value);
}

function bigintIfInteger(value: number): RequestNumber {
  return Number.isInteger(value) ? BigInt(value) : value;
}

const dayMicros = 86_400_000_000n;
const datePattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)?)?$/;

function offsetMicros(offset: string | undefined): bigint {
  if (offset === undefined || offset === 'Z') return 0n;
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(-2));
  return BigInt(offset.startsWith('-') ? -minutes : minutes) * 60_000_000n;
}
