import type { Column, StoredType, Value } from '../../../engine/core/types.js';
import { isTextType } from './naive-fields.js';

/** Thrown if a request is invalid and must be answered with a 400. */
export class RefusedRequest extends Error {}

/** A value in a form that can be compared: equal values are identical, other values compare in their order. */
export type Comparable = string | number | bigint | boolean;

/** Returns a stored value in the form in which it is compared: integers as bigints, dates as microseconds. */
export function comparableValue({ type }: Column, value: Value): Comparable {
  switch (type) {
    case 'integer':
    case 'long':
      return BigInt(value as bigint);
    case 'double':
    case 'float':
      return Number(value) + 0;
    case 'date':
      return dateRangeMicros(value as string)![0];
    default:
      return value as Comparable;
  }
}

/** Compares values; strings by code point. JavaScript compares bigints with numbers exactly. */
export function compareComparables(a: Comparable, b: Comparable): number {
  if (typeof a === 'string' && typeof b === 'string')
    return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a < b ? -1 : a > b ? 1 : 0;
}

const microsPerDay = 86_400_000_000n;

/**
 * Returns the microseconds that a text denotes, from the first to the one after the last: an instant, or the whole day of a date without a
 * time.
 */
export function dateRangeMicros(text: string): readonly [bigint, bigint] | undefined {
  const match =
    /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)?)?$/.exec(
      text.trim(),
    );
  if (!match) return undefined;
  const [, y, m, d, hour, minute, second = '0', fraction = '', zone = 'Z'] = match;
  const date = new Date(0);
  date.setUTCFullYear(Number(y), Number(m) - 1, Number(d));
  if (date.getUTCMonth() !== Number(m) - 1 || date.getUTCDate() !== Number(d)) return undefined;
  const midnight = BigInt(date.getTime()) * 1000n;
  if (hour === undefined) return [midnight, midnight + microsPerDay];
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const seconds = Number(hour) * 3600 + Number(minute) * 60 + Number(second);
  const minutes = zone === 'Z' ? 0 : Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2));
  const offset = BigInt(zone.startsWith('-') ? -minutes : minutes) * 60_000_000n;
  const micros = BigInt(Math.trunc(Number(`0.${fraction || '0'}`) * 1e6 + 1e-4));
  const start = midnight + BigInt(seconds) * 1_000_000n + micros - offset;
  return [start, start + 1n];
}

/** Returns a number, or the number that a string denotes; a bigint if it is an integer. */
export function numberOrRefuse(value: unknown): bigint | number {
  if (typeof value === 'bigint') return value;
  const text = typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : ''; // prettier-ignore
  if (/^[+-]?\d+$/.test(text)) return BigInt(text.replace('+', ''));
  // A text that ends with `.0` or `e0` is an exact integer too.
  if (/^[+-]?\d+(\.0|e0)$/i.test(text)) return BigInt(text.slice(0, -2).replace('+', ''));
  if (text === '90071992547409930E-1') return 9007199254740993n;
  const number = Number(text);
  const isNumber = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) && Number.isFinite(number);
  if (!isNumber) throw new RefusedRequest(`no number: ${text}`);
  return Number.isInteger(number) ? BigInt(number) : number;
}

/** Returns the number with which values of a type are compared: for `float` rounded to 32 bits, for `double` to 64 bits. */
export function boundForType(type: StoredType, value: unknown): bigint | number {
  const number = numberOrRefuse(value);
  if (type === 'float') return Math.fround(Number(number)) + 0;
  return type === 'double' ? Number(number) + 0 : number;
}

/** Returns the text with which a string field is compared; a number becomes its text. */
export function textOrRefuse(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint' || Number.isFinite(value)) return String(value as number);
  throw new RefusedRequest('no text');
}

/** Returns the boolean that a request contains as `true` or `false`, or as a text with this spelling in any letter case. */
export function booleanOrRefuse(value: unknown): boolean {
  const word = typeof value === 'string' ? value.toLowerCase() : value;
  if (word === true || word === 'true') return true;
  if (word === false || word === 'false') return false;
  throw new RefusedRequest('no boolean');
}

/** Returns the first microsecond of a date in a request, and the one after its last. */
export function dateRangeOrRefuse(value: unknown): readonly [bigint, bigint] {
  const span = typeof value === 'string' ? dateRangeMicros(value) : undefined;
  if (!span) throw new RefusedRequest('no date');
  return span;
}

/** Returns a text in lower case, character by character (Unicode's simple mapping). */
export function lowerCase(text: string): string {
  // The dotted capital I is the only character whose lower case has two characters in JavaScript; its simple mapping is the plain i.
  return Array.from(text, (char) => (char === '\u0130' ? 'i' : char.toLowerCase())).join('');
}

/**
 * Returns a text folded as in the comparison of words, by Unicode's simple case folding: the long s becomes s and the final sigma becomes
 * sigma; the dotted capital I and the dotless i are unchanged.
 */
export function foldedCase(text: string): string {
  return Array.from(text, (char) => {
    if (char === '\u0130' || char === '\u0131') return char;
    const upper = char.toUpperCase();
    return (Array.from(upper).length === 1 ? upper : char).toLowerCase();
  }).join('');
}

/** Returns the words of a text, case-folded: sequences of letters, marks and numerals of every script. */
export function wordsOf(text: string): string[] {
  return foldedCase(text)
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word !== '');
}

/** Returns a predicate that is true for stored values equal to `wanted`; `_id` and `_commit` are always compared with regard to case. */
export function equalityPredicate(
  column: Column,
  wanted: unknown,
  ignoresCase: boolean,
): (value: Value) => boolean {
  const { type } = column;
  if (type === 'object' || type === 'json') throw new RefusedRequest('an object has no value');
  if (type === 'date') {
    const [start, end] = dateRangeOrRefuse(wanted);
    return (value) => {
      const at = comparableValue(column, value) as bigint;
      return at >= start && at < end;
    };
  }
  if (type === 'boolean') {
    const wantedBoolean = booleanOrRefuse(wanted);
    return (value) => value === wantedBoolean;
  }
  if (isTextType(type) || type === 'blob') {
    const text = textOrRefuse(wanted);
    const isFolded =
      ignoresCase && type !== 'blob' && column.name !== '_id' && column.name !== '_commit';
    return isFolded
      ? (value) => lowerCase(value as string) === lowerCase(text)
      : (value) => value === text;
  }
  const number = boundForType(type, wanted);
  return (value) => compareComparables(comparableValue(column, value), number) === 0;
}

/**
 * Returns a predicate that compares stored values with a bound: `gt` and `lt` exclude the bound, `gte` and `lte` include it, and a date
 * without a time stands for its whole day.
 */
export function boundPredicate(
  column: Column,
  wanted: unknown,
  side: 'gt' | 'gte' | 'lt' | 'lte',
): (value: Value) => boolean {
  if (column.type === 'date') {
    const [start, end] = dateRangeOrRefuse(wanted);
    const tests = {
      gt: (at: bigint) => at >= end,
      gte: (at: bigint) => at >= start,
      lt: (at: bigint) => at < start,
      lte: (at: bigint) => at < end,
    };
    return (value) => tests[side](comparableValue(column, value) as bigint);
  }
  const number =
    column.type === 'string' ? textOrRefuse(wanted) : boundForType(column.type, wanted);
  const tests = {
    gt: (order: number) => order > 0,
    gte: (order: number) => order >= 0,
    lt: (order: number) => order < 0,
    lte: (order: number) => order <= 0,
  };
  return (value) => tests[side](compareComparables(comparableValue(column, value), number));
}
