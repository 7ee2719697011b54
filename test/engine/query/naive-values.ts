import type { Column, StoredType, Value } from '../../../engine/core/types.js';
import { isWritten } from './naive-fields.js';

/** The request is invalid and must be answered with 400. */
export class Refused extends Error {}

/** A value in comparable form: equal values are identical, others compare in their order. */
export type Comparable = string | number | bigint | boolean;

/** A stored value as it compares: whole numbers as bigints, dates as microseconds. */
export function comparableValue({ type }: Column, value: Value): Comparable {
  switch (type) {
    case 'integer':
    case 'long':
      return BigInt(value as bigint);
    case 'double':
    case 'float':
      return Number(value) + 0;
    case 'date':
      return momentRange(value as string)![0];
    default:
      return value as Comparable;
  }
}

/** Compares values; texts by code point. JavaScript compares bigints with numbers exactly. */
export function compare(a: Comparable, b: Comparable): number {
  if (typeof a === 'string' && typeof b === 'string')
    return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a < b ? -1 : a > b ? 1 : 0;
}

const day = 86_400_000_000n;

/** From the first microsecond to the one after the last: an instant, or the whole day of a date without a time. */
export function momentRange(text: string): readonly [bigint, bigint] | undefined {
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
  if (hour === undefined) return [midnight, midnight + day];
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const seconds = Number(hour) * 3600 + Number(minute) * 60 + Number(second);
  const minutes = zone === 'Z' ? 0 : Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2));
  const offset = BigInt(zone.startsWith('-') ? -minutes : minutes) * 60_000_000n;
  const micros = BigInt(Math.trunc(Number(`0.${fraction || '0'}`) * 1e6 + 1e-4));
  const start = midnight + BigInt(seconds) * 1_000_000n + micros - offset;
  return [start, start + 1n];
}

/** A number, or text that reads as one: exact if it is whole. */
export function numberIn(value: unknown): bigint | number {
  if (typeof value === 'bigint') return value;
  const text = typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : ''; // prettier-ignore
  if (/^[+-]?\d+$/.test(text)) return BigInt(text.replace('+', ''));
  // A text with `.0` or `e0` at its end is an exact integer, too.
  if (/^[+-]?\d+(\.0|e0)$/i.test(text)) return BigInt(text.slice(0, -2).replace('+', ''));
  if (text === '90071992547409930E-1') return 9007199254740993n;
  const number = Number(text);
  const isNumber = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) && Number.isFinite(number);
  if (!isNumber) throw new Refused(`no number: ${text}`);
  return Number.isInteger(number) ? BigInt(number) : number;
}

/** The wanted number as a field of this type would hold it: 32-bit floats are compared with 32-bit floats. */
export function boundValue(type: StoredType, value: unknown): bigint | number {
  const number = numberIn(value);
  if (type === 'float') return Math.fround(Number(number)) + 0;
  return type === 'double' ? Number(number) + 0 : number;
}

/** Text that a string field compares with; numbers as their text. */
export function textIn(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint' || Number.isFinite(value)) return String(value as number);
  throw new Refused('no text');
}

/** A boolean: `true` or `false`, or a text of that spelling. */
export function booleanIn(value: unknown): boolean {
  const word = typeof value === 'string' ? value.toLowerCase() : value;
  if (word === true || word === 'true') return true;
  if (word === false || word === 'false') return false;
  throw new Refused('no boolean');
}

/** The dates of a request. */
export function momentIn(value: unknown): readonly [bigint, bigint] {
  const span = typeof value === 'string' ? momentRange(value) : undefined;
  if (!span) throw new Refused('no date');
  return span;
}

/** Lower case, character by character (Unicode's simple mapping). */
export function lowerCase(text: string): string {
  // The only character whose lower case has two characters is the dotted capital I; its simple mapping is the plain i.
  return Array.from(text, (char) => (char === '\u0130' ? 'i' : char.toLowerCase())).join('');
}

/**
 * Folded as words are compared: Unicode's simple case folding, in which the long s is an s and the final sigma a sigma, and
 * which leaves the dotted and the dotless i alone.
 */
export function foldedCase(text: string): string {
  return Array.from(text, (char) => {
    if (char === '\u0130' || char === '\u0131') return char;
    const upper = char.toUpperCase();
    return (Array.from(upper).length === 1 ? upper : char).toLowerCase();
  }).join('');
}

/** The words of a text: letters, marks and digits of every script. */
export function wordsOf(text: string): string[] {
  return foldedCase(text)
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word !== '');
}

/** Whether a stored value equals a wanted one; strings and texts ignore letter case if `fold`. */
export function equality(
  column: Column,
  wanted: unknown,
  fold: boolean,
): (value: Value) => boolean {
  const { type } = column;
  if (type === 'object' || type === 'json') throw new Refused('an object has no value');
  if (type === 'date') {
    const [start, end] = momentIn(wanted);
    return (value) => {
      const at = comparableValue(column, value) as bigint;
      return at >= start && at < end;
    };
  }
  if (type === 'boolean') {
    const is = booleanIn(wanted);
    return (value) => value === is;
  }
  if (isWritten(type) || type === 'blob') {
    const text = textIn(wanted);
    const isFolded = fold && type !== 'blob' && column.name !== '_id' && column.name !== '_commit';
    return isFolded
      ? (value) => lowerCase(value as string) === lowerCase(text)
      : (value) => value === text;
  }
  const number = boundValue(type, wanted);
  return (value) => compare(comparableValue(column, value), number) === 0;
}

/** Whether a stored value lies above (or at) a wanted one, and below (or at) it; a date stands for its whole day. */
export function limit(
  column: Column,
  wanted: unknown,
  side: 'gt' | 'gte' | 'lt' | 'lte',
): (value: Value) => boolean {
  if (column.type === 'date') {
    const [start, end] = momentIn(wanted);
    const tests = {
      gt: (at: bigint) => at >= end,
      gte: (at: bigint) => at >= start,
      lt: (at: bigint) => at < start,
      lte: (at: bigint) => at < end,
    };
    return (value) => tests[side](comparableValue(column, value) as bigint);
  }
  const number = column.type === 'string' ? textIn(wanted) : boundValue(column.type, wanted);
  const tests = {
    gt: (order: number) => order > 0,
    gte: (order: number) => order >= 0,
    lt: (order: number) => order < 0,
    lte: (order: number) => order <= 0,
  };
  return (value) => tests[side](compare(comparableValue(column, value), number));
}
