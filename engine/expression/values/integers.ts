import { overflowError, typeError, valueError } from './expression-errors.js';
import type { Budget } from './expression-limits.js';
import { typeName } from './type-name.js';
import { Float } from './python-values.js';
import type { PyValue } from './python-values.js';

/** An int as a number where it is safe, else as a bigint. */
export type PyInt = number | bigint;

/** Returns an int as a number if it is a safe integer, else as a bigint. */
export function toInt(value: bigint): PyInt {
  return value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value;
}

/** Returns the number of bits of the absolute value. */
export function bitLength(value: PyInt): number {
  if (typeof value === 'number') {
    const size = Math.abs(value);
    if (size < 0x80000000) return 32 - Math.clz32(size);
    return 32 + (32 - Math.clz32(Math.floor(size / 4294967296)));
  }
  const text = (value < 0n ? -value : value).toString(16);
  return 4 * (text.length - 1) + (32 - Math.clz32(Number.parseInt(text.charAt(0), 16)));
}

/** Returns the int of an int or bool; undefined for other values. */
export function asInt(value: PyValue): PyInt | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  return typeof value === 'boolean' ? Number(value) : undefined;
}

/** Returns an int argument; throws the TypeError of CPython's `operator.index` for other values. */
export function toIndex(value: PyValue): PyInt {
  const int = asInt(value);
  if (int === undefined)
    throw typeError(`'${typeName(value)}' object cannot be interpreted as an integer`);
  return int;
}

/** Returns an int argument as a number; an int that is not a safe integer is an OverflowError. */
export function toSize(value: PyValue): number {
  const int = toIndex(value);
  if (typeof int === 'bigint') throw overflowError('Python int too large to convert to C ssize_t');
  return int;
}

/** Returns an int argument, clipped to the safe integers, for positions in sequences. */
export function toClippedSize(value: PyValue): number {
  const int = toIndex(value);
  if (typeof int === 'number') return int;
  return int > 0n ? Number.MAX_SAFE_INTEGER : Number.MIN_SAFE_INTEGER;
}

/** Converts an int to a double; an int beyond the range of doubles is an OverflowError. */
export function intToFloat(value: PyInt): number {
  if (typeof value === 'number') return value;
  const number = Number(value);
  if (!Number.isFinite(number)) throw overflowError('int too large to convert to float');
  return number;
}

/** Returns the integral part of a double as an int; throws for NaN and infinity, which have none. */
export function floatToInt(value: number): PyInt {
  if (Number.isNaN(value)) throw valueError('cannot convert float NaN to integer');
  if (!Number.isFinite(value)) throw overflowError('cannot convert float infinity to integer');
  const truncatedValue = Math.trunc(value);
  return Number.isSafeInteger(truncatedValue) ? truncatedValue + 0 : BigInt(truncatedValue);
}

/** Returns the decimal digits of an int; more than 4300 digits are a ValueError, as in CPython 3.11. */
export function intText(value: PyInt, budget?: Budget): string {
  if (typeof value === 'number') return String(value);
  if (bitLength(value) > 14_200) {
    const digits = value.toString().length - (value < 0n ? 1 : 0);
    budget?.charge(digits);
    if (digits > maxIntegerDigits)
      throw valueError(
        'Exceeds the limit (4300 digits) for integer string conversion; use sys.set_int_max_str_digits() to increase the limit',
      );
  }
  return value.toString();
}

/** The maximum number of digits that CPython 3.11 converts between ints and texts. */
export const maxIntegerDigits = 4300;

/** Reads a number of any numeric type as a double; undefined for other values. */
export function asDouble(value: PyValue): number | undefined {
  if (value instanceof Float) return value.value;
  const int = asInt(value);
  return int === undefined ? undefined : intToFloat(int);
}
