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
 * Converts a scalar to the form in which a column of the type stores it: a string for `string`, `text` and `blob`, a number or bigint for
 * numbers, microseconds since 1970 for dates. Returns null for an empty string in a field of numbers, dates or booleans (contract 19.3),
 * and a misfit of code 301 when the conversion would lose information.
 */
export function castScalar(type: StoredType, value: InputScalar): InputScalar | null | CastError {
  return (casts[type] ?? misfitOf)(value, type);
}

export function isMisfit(value: InputScalar | null | CastError): value is CastError {
  return typeof value === 'object' && value !== null;
}

/** The error of a value that is a string of `bytes` bytes in UTF-8, more than the type `string` allows. */
export function tooLong(bytes: number): CastError {
  return {
    code: codes.stringLength,
    message: `a string of ${bytes} bytes is longer than the ${budgets.stringBytes} bytes that data type "string" holds: use data type "text"`,
  };
}

/** The warning for a long string that changes an undeclared field into one of type `text`. */
export function becomesText(bytes: number): string {
  return `a string of ${bytes} bytes is longer than the ${budgets.stringBytes} bytes that data type "string" holds: the field becomes "text"`;
}

type Cast = (value: InputScalar, type: StoredType) => InputScalar | null | CastError;

const casts: Readonly<Partial<Record<StoredType, Cast>>> = {
  string: String,
  text: String,
  blob: String,
  boolean: toBoolean,
  integer: (value, type) => toWhole(value, type, -(2n ** 31n), 2n ** 31n - 1n),
  long: (value, type) => toWhole(value, type, -(2n ** 63n), 2n ** 63n - 1n),
  double: toDouble,
  float(value, type) {
    const number = toDouble(value, type);
    return typeof number === 'number' &&
      Number.isFinite(number) &&
      !Number.isFinite(Math.fround(number))
      ? outOfRange(value, type)
      : number;
  },
  date(value, type) {
    if (typeof value !== 'string') return misfitOf(value, type);
    if (value === '') return null;
    const bytes = encoder.encode(value);
    return isoMicros(bytes, 0, bytes.length, true) ?? misfitOf(value, type);
  },
};

/** Accepts true, false, 1 and 0, also as strings in any letter case; other strings are probably mistakes. */
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
      return misfitOf(value, type);
  }
}

function toWhole(
  value: InputScalar,
  type: StoredType,
  min: bigint,
  max: bigint,
): number | bigint | null | CastError {
  if (value === '') return null;
  if (typeof value === 'boolean') return misfitOf(value, type);
  if (typeof value === 'string' && !wholeText.test(value)) return misfitOf(value, type);
  if (typeof value === 'number' && !Number.isInteger(value)) return misfitOf(value, type);
  const whole = BigInt(value);
  if (whole < min || whole > max) return outOfRange(value, type);
  const number = Number(whole);
  return Number.isSafeInteger(number) ? number : whole;
}
/** The length is bounded, because parsing a bigint of a million digits takes seconds. */
const wholeText = /^-?\d{1,400}$/;

function toDouble(value: InputScalar, type: StoredType): number | null | CastError {
  if (value === '') return null;
  if (typeof value === 'boolean') return misfitOf(value, type);
  if (typeof value === 'string' && !numberText.test(value)) return misfitOf(value, type);
  const number = Number(value);
  return Number.isFinite(number) || typeof value === 'number' ? number : outOfRange(value, type);
}
/** Takes linear time, because no digit can match in two ways. */
const numberText = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/;

function misfitOf(value: InputScalar, type: StoredType): CastError {
  return { code: codes.invalidValue, message: `${shownValue(value)} is not a valid ${type}` };
}

function outOfRange(value: InputScalar, type: StoredType): CastError {
  return {
    code: codes.invalidValue,
    message: `${shownValue(value)} is out of the range of ${type}`,
  };
}

/** Shows a value in a message: at most 60 characters, control characters escaped. */
function shownValue(value: InputScalar): string {
  const text = typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : String(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}…`;
}

const encoder = new TextEncoder();
