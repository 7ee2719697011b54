/**
 * Parses the ISO 8601 date or time `bytes[from..to)`: returns microseconds since 1970 UTC, or undefined for other text. A time without a
 * zone is UTC.
 * In the strict form, by which the type of a field is inferred, a date is `YYYY-MM-DD` and a time `YYYY-MM-DDTHH:MM:SS[.f]`, with or
 * without `Z` or an offset such as `+02:00`, and with up to six digits of fraction. The lenient form, for values known to be dates, also
 * allows a space instead of `T`, omitted seconds, and more digits of fraction (which are cut off).
 */
export function isoMicros(
  bytes: Uint8Array,
  from: number,
  to: number,
  isLenient = false,
): number | bigint | undefined {
  const length = to - from;
  if (length < 10 || length > 35 || bytes[from + 4] !== dash || bytes[from + 7] !== dash)
    return undefined;
  const year = parseDigits(bytes, from, 4);
  const month = parseDigits(bytes, from + 5, 2);
  const day = parseDigits(bytes, from + 8, 2);
  if (
    !(year >= 0) ||
    !(month >= 1 && month <= 12) ||
    !(day >= 1 && day <= daysInMonth(year, month))
  )
    return undefined;
  const days = dayNumber(year, month, day);
  if (length === 10) return microsecondsOf(days * 86_400, 0);

  let at = from + 10;
  const separator = bytes[at++];
  if (separator !== letterT && !(isLenient && separator === space)) return undefined;
  const hour = parseDigits(bytes, at, 2);
  const minute = parseDigits(bytes, at + 3, 2);
  if (bytes[at + 2] !== colon || at + 5 > to || !(hour <= 23) || !(minute <= 59)) return undefined;
  at += 5;
  let second = 0;
  let fraction = 0;
  if (at < to && bytes[at] === colon) {
    second = parseDigits(bytes, at + 1, 2);
    if (at + 3 > to || !(second <= 59)) return undefined;
    at += 3;
    if (at < to && bytes[at] === dot) {
      const start = ++at;
      let scale = 100_000;
      for (; at < to && isDigit(bytes[at]!); at++) {
        fraction += (bytes[at]! - zero) * Math.floor(scale);
        scale /= 10;
      }
      if (at === start || (!isLenient && at - start > 6)) return undefined;
    }
  } else if (!isLenient) return undefined;
  const offset = at === to ? 0 : zoneOffset(bytes, at, to);
  if (offset === undefined) return undefined;
  return microsecondsOf(days * 86_400 + hour * 3_600 + minute * 60 + second - offset, fraction);
}

const dash = 45;
const plus = 43;
const dot = 46;
const colon = 58;
const zero = 48;
const space = 32;
const letterT = 84;
const letterZ = 90;

function isDigit(byte: number): boolean {
  return byte >= 48 && byte <= 57;
}

/** Returns the number that `count` digits represent; NaN if there are other characters. */
function parseDigits(bytes: Uint8Array, from: number, count: number): number {
  let value = 0;
  for (let i = from; i < from + count; i++) {
    const byte = bytes[i] ?? 0;
    if (!isDigit(byte)) return NaN;
    value = value * 10 + byte - zero;
  }
  return value;
}

/** Returns the offset from UTC in seconds, positive in the east; undefined for other text. */
function zoneOffset(bytes: Uint8Array, at: number, to: number): number | undefined {
  if (bytes[at] === letterZ) return at + 1 === to ? 0 : undefined;
  const sign = bytes[at] === plus ? 1 : bytes[at] === dash ? -1 : 0;
  if (sign === 0) return undefined;
  const hour = parseDigits(bytes, at + 1, 2);
  const minuteAt = bytes[at + 3] === colon ? at + 4 : at + 3;
  const minute = at + 3 === to ? 0 : parseDigits(bytes, minuteAt, 2);
  const end = at + 3 === to ? to : minuteAt + 2;
  return hour <= 14 && minute <= 59 && end === to ? sign * (hour * 3_600 + minute * 60) : undefined;
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/**
 * Returns the number of days since 1970-01-01 in the Gregorian calendar. The computation lets years begin in March, so that the leap day is
 * the last day.
 */
function dayNumber(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra =
    yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

function microsecondsOf(seconds: number, fraction: number): number | bigint {
  const value = seconds * 1_000_000 + fraction;
  return Number.isSafeInteger(value) ? value : BigInt(seconds) * 1_000_000n + BigInt(fraction);
}
