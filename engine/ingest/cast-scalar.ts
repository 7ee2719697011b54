import { budgets } from '../core/budgets.js';
import type { StoredType } from '../core/types.js';
import { isoMicros } from './iso-date.js';
import { codes } from './validation-codes.js';

/** The reason why a value cannot be stored in its field, with the validation code. */
export interface CastError {
  readonly code: number;
  readonly message: string;
}

export type InputScalar = boolean | number | bigint | string;

/**
 * Converts a scalar to the form in which a column of the type stores it: a string for `string`, `text` and `blob`, a boolean for `boolean`,
 * a number or bigint for numbers, microseconds since 1970 for dates. Returns null for an empty string in a field of numbers, dates or
 * booleans (contract 19.3), and an error with code 301 for a value that is not of the type or out of its range. A double may be rounded.
 */
export function castScalar(type: StoredType, value: InputScalar): InputScalar | null | CastError {
  return (castByType[type] ?? invalidValueError)(value, type);
}

export function isCastError(value: InputScalar | null | CastError): value is CastError {
  return typeof value === 'object' && value !== null;
}

/** Returns the error for a string whose `bytes` bytes of UTF-8 are more than the type `string` allows. */
export function tooLongError(bytes: number): CastError {
  return {
    code: codes.stringLength,
    message: `a string of ${bytes} bytes is longer than the ${budgets.stringBytes} bytes that data type "string" holds: use data type "text"`,
  };
}

/** Returns the warning about a long string, because of which an undeclared field gets the type `text`. */
export function convertedToTextWarning(bytes: number): string {
  return `a string of ${bytes} bytes is longer than the ${budgets.stringBytes} bytes that data type "string" holds: the field becomes "text"`;
}

type Cast = (value: InputScalar, type: StoredType) => InputScalar | null | CastError;

const castByType: Readonly<Partial<Record<StoredType, Cast>>> = {
  string: String,
  text: String,
  blob: String,
  boolean: toBoolean,
  integer: (value, type) => toInteger(value, type, -(2n ** 31n), 2n ** 31n - 1n),
  long: (value, type) => toInteger(value, type, -(2n ** 63n), 2n ** 63n - 1n),
  double: toDouble,
  float(value, type) {
    const number = toDouble(value, type);
    return typeof number === 'number' &&
      Number.isFinite(number) &&
      !Number.isFinite(Math.fround(number))
      ? outOfRangeError(value, type)
      : number;
  },
  date(value, type) {
    if (typeof value !== 'string') return invalidValueError(value, type);
    if (value === '') return null;
    const bytes = utf8Encoder.encode(value);
    return isoMicros(bytes, 0, bytes.length, true) ?? invalidValueError(value, type);
  },
};

/** Converts true, false, 1 and 0, also as strings in any letter case. An empty string becomes null; any other value is an error. */
function toBoolean(value: InputScalar, type: StoredType): boolean | null | CastError {
  if (value === '') return null;
  switch (String(value).toLowerCase()) {
    case 'true':
    case '1':
      return true;
    case 'false':
    case '0':
      return false;
    default:
      return invalidValueError(value, type);
  }
}

function toInteger(
  value: InputScalar,
  type: StoredType,
  min: bigint,
  max: bigint,
): number | bigint | null | CastError {
  if (value === '') return null;
  if (typeof value === 'boolean') return invalidValueError(value, type);
  if (typeof value === 'string' && !integerPattern.test(value))
    return invalidValueError(value, type);
  if (typeof value === 'number' && !Number.isInteger(value)) return invalidValueError(value, type);
  const whole = BigInt(value);
  if (whole < min || whole > max) return outOfRangeError(value, type);
  const number = Number(whole);
  return Number.isSafeInteger(number) ? number : whole;
}
/** The number of digits is limited, because parsing a bigint of a million digits takes seconds. */
const integerPattern = /^-?\d{1,400}$/;

function toDouble(value: InputScalar, type: StoredType): number | null | CastError {
  if (value === '') return null;
  if (typeof value === 'boolean') return invalidValueError(value, type);
  if (typeof value === 'string' && !numberPattern.test(value))
    return invalidValueError(value, type);
  const number = Number(value);
  return Number.isFinite(number) || typeof value === 'number'
    ? number
    : outOfRangeError(value, type);
}
/** The expression matches in linear time, because no digit can match in two ways. */
const numberPattern = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/;

function invalidValueError(value: InputScalar, type: StoredType): CastError {
  return { code: codes.invalidValue, message: `${valueForMessage(value)} is not a valid ${type}` };
}

function outOfRangeError(value: InputScalar, type: StoredType): CastError {
  return {
    code: codes.invalidValue,
    message: `${valueForMessage(value)} is out of the range of ${type}`,
  };
}

/** Returns a value as text for a message: at most 60 characters, control characters escaped. */
function valueForMessage(value: InputScalar): string {
  const text = typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : String(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}…`;
}

const utf8Encoder = new TextEncoder();
