import { makeFloat, makeInt } from '../builtins/number-types.js';
import { ExpressionError, valueError } from '../values/expression-errors.js';
import { asInt } from '../values/integers.js';
import { Budget, defaultLimits } from '../values/expression-limits.js';
import { stripWhiteSpace } from '../values/unicode-characters.js';
import { reprOf, strOf } from '../values/repr.js';
import { isTruthy } from '../values/truth.js';
import { Float, PyDict, PyList } from '../values/python-values.js';
import type { PyValue, Runtime } from '../values/python-values.js';
import { toPlainValue } from '../values/plain-result.js';

/** The types to which a result can be cast. */
export const castTypes = [
  'auto',
  'blob',
  'boolean',
  'date',
  'double',
  'float',
  'integer',
  'long',
  'object',
  'string',
  'text',
] as const;

/** The type to which a result is cast; `auto` leaves it unchanged. */
export type CastType = (typeof castTypes)[number];

/** The runtime for casting values that are not the result of an expression; start its budget for each value. */
export const castRuntime: Runtime = {
  budget: new Budget(defaultLimits, () => performance.now()),
  host: {},
};

/**
 * Makes a result plain and casts it (specification of expressions, sections 5.1 to 5.3). With `isList` null, a list stays a list, and a
 * single value stays one. Throws an `ExpressionError` for a value that cannot be cast.
 */
export function castResult(
  runtime: Runtime,
  value: PyValue,
  type: CastType,
  isList: boolean | null,
): PyValue {
  let plainResult = toPlainValue(runtime, value);
  if (isList === false) {
    while (plainResult instanceof PyList) plainResult = plainResult.items[0] ?? null;
    return castScalar(runtime, plainResult, type);
  }
  if (plainResult instanceof PyList)
    return new PyList(plainResult.items.map((item) => castElement(runtime, item, type)));
  const castValue = castScalar(runtime, plainResult, type);
  return isList === true ? new PyList([castValue]) : castValue;
}

/** Casts an element of a list. If it is itself a list, its first element is cast instead, except for `auto`. */
function castElement(runtime: Runtime, item: PyValue, type: CastType): PyValue {
  let element = item;
  if (type !== 'auto') while (element instanceof PyList) element = element.items[0] ?? null;
  return castScalar(runtime, element, type);
}

function castScalar(runtime: Runtime, value: PyValue, type: CastType): PyValue {
  if (value === null) return null;
  return castByType[type](runtime, value, type);
}

type ResultCast = (runtime: Runtime, value: PyValue, type: CastType) => PyValue;

const castByType: Readonly<Record<CastType, ResultCast>> = {
  auto: (_runtime, value) => value,
  blob: strOf,
  string: strOf,
  text: strOf,
  boolean: (_runtime, value) => isTruthy(value),
  integer: (runtime, value, type) => castInteger(runtime, value, type, 31n),
  long: (runtime, value, type) => castInteger(runtime, value, type, 63n),
  double: castFloat,
  float: castFloat,
  date: (runtime, value, type) => {
    if (value === '') return null;
    if (typeof value === 'string' && isDate(value)) return value;
    throw invalidValueError(runtime, value, type);
  },
  object: (runtime, value, type) => {
    if (value === '') return null;
    if (value instanceof PyDict) return value;
    throw invalidValueError(runtime, value, type);
  },
};

function invalidValueError(runtime: Runtime, value: PyValue, type: CastType): ExpressionError {
  const text = reprOf(runtime, value);
  const shownText = text.length > 200 ? `${text.slice(0, 200)}…` : text;
  return valueError(`Invalid value for data type ${type}: ${shownText}`);
}

function castInteger(runtime: Runtime, value: PyValue, type: CastType, bits: bigint): PyValue {
  if (typeof value === 'number' && (bits > 32n || value === (value | 0))) return value;
  if (value === '' || (value instanceof Float && Number.isNaN(value.value))) return null;
  const int = asInt(value) ?? integerOf(runtime, value);
  if (int === undefined) throw invalidValueError(runtime, value, type);
  const limit = 1n << bits;
  if (BigInt(int) >= limit || BigInt(int) < -limit) throw invalidValueError(runtime, value, type);
  return int;
}

function integerOf(runtime: Runtime, value: PyValue): number | bigint | undefined {
  try {
    return asInt(makeInt(runtime, value, undefined));
  } catch (error) {
    if (!isConversionError(error)) throw error;
  }
  if (typeof value !== 'string' || !/^[-+]?\d*\.?\d*$/.test(stripWhiteSpace(value)))
    return undefined;
  const number = Number(stripWhiteSpace(value) || Number.NaN);
  return Number.isSafeInteger(number) ? number + 0 : undefined;
}

function castFloat(runtime: Runtime, value: PyValue, type: CastType): PyValue {
  if (value === '') return null;
  try {
    const float = makeFloat(runtime, value);
    return Number.isNaN(float.value) ? null : float;
  } catch (error) {
    if (!isConversionError(error)) throw error;
    throw invalidValueError(runtime, value, type);
  }
}

/** Whether an error says that a value cannot be converted; false for an exceeded limit. */
function isConversionError(error: unknown): boolean {
  return (
    error instanceof ExpressionError &&
    ['ValueError', 'TypeError', 'OverflowError'].includes(error.exception)
  );
}

const datePattern =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ]([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?(?:Z|[-+]\d\d(?::?\d\d)?)?)?$/;

function isDate(text: string): boolean {
  const [, year, month, day] = datePattern.exec(text) ?? [];
  if (year === undefined || Number(month) < 1 || Number(month) > 12 || Number(day) < 1)
    return false;
  return Number(day) <= new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
}
