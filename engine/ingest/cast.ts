import { budgets } from '../core/budgets.js';
import type { StoredType } from '../core/types.js';
import { isoMicros } from './iso-date.js';

/** A value that cannot become what its field holds: the validation code and the reason. */
export interface Misfit {
  readonly code: number;
  readonly message: string;
}

export type Scalar = boolean | number | bigint | string;

/**
 * A scalar as the given type stores it: text for texts, number or bigint (dates: microseconds) for numbers. Null for an empty
 * text where a number, date or boolean is wanted (contract 19.3). What would lose information is a misfit, code 301.
 */
export function castScalar(type: StoredType, value: Scalar): Scalar | null | Misfit {
  return (casts[type] ?? misfitOf)(value, type);
}

export function isMisfit(value: Scalar | null | Misfit): value is Misfit {
  return typeof value === 'object' && value !== null;
}

/** The misfit of a text beyond the limit of the `string` type, which counts UTF-8 bytes. */
export function tooLong(bytes: number): Misfit {
  return {
    code: 306,
    message: `a text of ${bytes} bytes is longer than ${budgets.stringBytes} bytes (budget stringBytes): declare the field as data type "text"`,
  };
}

type Cast = (value: Scalar, type: StoredType) => Scalar | null | Misfit;

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

/** `true`, `1` and their opposites, also as text; other texts are more likely to be mistakes than truths. */
function toBoolean(value: Scalar, type: StoredType): boolean | null | Misfit {
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
  value: Scalar,
  type: StoredType,
  min: bigint,
  max: bigint,
): number | bigint | null | Misfit {
  if (value === '') return null;
  if (typeof value === 'boolean') return misfitOf(value, type);
  if (typeof value === 'string' && !wholeText.test(value)) return misfitOf(value, type);
  if (typeof value === 'number' && !Number.isInteger(value)) return misfitOf(value, type);
  const whole = BigInt(value);
  if (whole < min || whole > max) return outOfRange(value, type);
  const number = Number(whole);
  return Number.isSafeInteger(number) ? number : whole;
}
/** Bounded, because a bigint of a million digits takes long to make. */
const wholeText = /^-?\d{1,400}$/;

function toDouble(value: Scalar, type: StoredType): number | null | Misfit {
  if (value === '') return null;
  if (typeof value === 'boolean') return misfitOf(value, type);
  if (typeof value === 'string' && !numberText.test(value)) return misfitOf(value, type);
  const number = Number(value);
  return Number.isFinite(number) || typeof value === 'number' ? number : outOfRange(value, type);
}
/** Written so that no digit can match in two places: linear in the text. */
const numberText = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/;

function misfitOf(value: Scalar, type: StoredType): Misfit {
  return { code: 301, message: `${show(value)} is not a valid ${type}` };
}

function outOfRange(value: Scalar, type: StoredType): Misfit {
  return { code: 301, message: `${show(value)} is out of the range of ${type}` };
}

/** A value in a message: short, and with nothing that a terminal would act on. */
function show(value: Scalar): string {
  const text = typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : String(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}…`;
}

const encoder = new TextEncoder();
