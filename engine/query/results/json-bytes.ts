import type { ByteSink } from '../../parquet/byte-sink.js';
import { writeDigits } from './number-bytes.js';

/* Writes JSON byte by byte into a buffer, because most values are too short to be worth a JavaScript string. */

/**
 * For each byte, its form in a JSON string: the letter after the backslash; `u` for an escape of six characters, of which the last two
 * depend on the byte; or 0 for the byte itself.
 */
const escapeLetters = new Uint8Array(256);
const unicodeEscapeLetter = 117; // the letter u
escapeLetters.fill(unicodeEscapeLetter, 0, 32);
for (const [char, letter] of Object.entries({ '\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r', '"': '"', '\\': '\\' })) {
  escapeLetters[char.charCodeAt(0)] = letter.charCodeAt(0);
} // prettier-ignore

const quote = 34;
const backslash = 92;
const zeroDigitByte = 48;
const minus = 45;
const hexDigits = Buffer.from('0123456789ABCDEF');

/** Writes a string in quotes, with escapes. */
export function writeJsonString(out: ByteSink, text: Uint8Array, from: number, to: number): void {
  out.reserve(to - from + 2);
  let { bytes, endOffset } = out;
  bytes[endOffset++] = quote;
  for (let i = from; i < to; i++) {
    const byte = text[i]!;
    const escape = escapeLetters[byte]!;
    if (escape === 0) {
      bytes[endOffset++] = byte;
      continue;
    }
    out.endOffset = endOffset;
    out.reserve(to - i + 6);
    ({ bytes } = out);
    bytes[endOffset++] = backslash;
    bytes[endOffset++] = escape;
    if (escape !== unicodeEscapeLetter) continue;
    bytes[endOffset++] = zeroDigitByte;
    bytes[endOffset++] = zeroDigitByte;
    bytes[endOffset++] = hexDigits[byte >> 4]!;
    bytes[endOffset++] = hexDigits[byte & 15]!;
  }
  bytes[endOffset++] = quote;
  out.endOffset = endOffset;
}

/** Writes bytes unchanged. */
export function writeRawBytes(out: ByteSink, raw: Uint8Array, from: number, to: number): void {
  out.reserve(to - from);
  if (to - from > 200) {
    out.bytes.set(raw.subarray(from, to), out.endOffset);
    out.endOffset += to - from;
    return;
  }
  const { bytes } = out;
  let { endOffset: end } = out;
  for (let i = from; i < to; i++) bytes[end++] = raw[i]!;
  out.endOffset = end;
}

/** Writes microseconds since 1970, given as two halves, as `YYYY-MM-DD` at midnight, else as `YYYY-MM-DDTHH:MM:SS[.ffffff]`. */
export function writeDate(out: ByteSink, low: number, high: number): void {
  // 2^32 µs are 4294 s and 967,296 µs, so all numbers in this function are integers that a double holds exactly.
  const micros = high * 967_296 + (low >>> 0);
  const wholeSeconds = Math.floor(micros / 1e6);
  const seconds = high * 4294 + wholeSeconds;
  const microsOfSecond = micros - wholeSeconds * 1e6;
  const day = Math.floor(seconds / 86_400);
  const second = seconds - day * 86_400;
  out.reserve(40);
  writeDay(out, day);
  if (second !== 0 || microsOfSecond !== 0) {
    out.bytes[out.endOffset++] = 84; // the letter T
    writeDigits(out, Math.floor(second / 3600), 2);
    out.bytes[out.endOffset++] = 58; // a colon
    writeDigits(out, Math.floor(second / 60) % 60, 2);
    out.bytes[out.endOffset++] = 58;
    writeDigits(out, second % 60, 2);
    if (microsOfSecond !== 0) {
      out.bytes[out.endOffset++] = 46; // a decimal point
      writeDigits(out, microsOfSecond, 6);
    }
  }
}

/**
 * Writes a number of days since 1970 as year, month and day, by Howard Hinnant's algorithm "civil_from_days", in which years begin in
 * March.
 */
function writeDay(out: ByteSink, day: number): void {
  const shiftedDay = day + 719_468;
  const era = Math.floor(shiftedDay / 146_097);
  const dayOfEra = shiftedDay - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  if (year < 0) {
    out.bytes[out.endOffset++] = minus;
    writeDigits(out, -year, 1);
  } else {
    writeDigits(out, year, 4);
  }
  out.bytes[out.endOffset++] = minus;
  writeDigits(out, month, 2);
  out.bytes[out.endOffset++] = minus;
  writeDigits(out, dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1, 2);
}
