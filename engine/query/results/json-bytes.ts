import type { ByteSink } from '../../parquet/byte-sink.js';
import { writeDigits } from './number-bytes.js';

/*
 * JSON written byte by byte into a buffer: most values are too short to pay for a string of their own.
 */

/**
 * Per byte, what stands for it in a text: the letter behind a backslash, `u` for six characters of which the last two count, 0
 * for itself.
 */
const escapes = new Uint8Array(256);
const unicode = 117; // u
escapes.fill(unicode, 0, 32);
for (const [char, letter] of Object.entries({ '\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r', '"': '"', '\\': '\\' })) {
  escapes[char.charCodeAt(0)] = letter.charCodeAt(0);
} // prettier-ignore

const quote = 34;
const backslash = 92;
const zero = 48;
const minus = 45;
const hexDigits = Buffer.from('0123456789ABCDEF');

/** Writes a string in quotes, escaped. */
export function writeText(out: ByteSink, text: Uint8Array, from: number, to: number): void {
  out.reserve(to - from + 2);
  let { bytes, end } = out;
  bytes[end++] = quote;
  for (let i = from; i < to; i++) {
    const byte = text[i]!;
    const escape = escapes[byte]!;
    if (escape === 0) {
      bytes[end++] = byte;
      continue;
    }
    out.end = end;
    out.reserve(to - i + 6);
    ({ bytes } = out);
    bytes[end++] = backslash;
    bytes[end++] = escape;
    if (escape !== unicode) continue;
    bytes[end++] = zero;
    bytes[end++] = zero;
    bytes[end++] = hexDigits[byte >> 4]!;
    bytes[end++] = hexDigits[byte & 15]!;
  }
  bytes[end++] = quote;
  out.end = end;
}

/** Writes bytes unchanged. */
export function writeRaw(out: ByteSink, raw: Uint8Array, from: number, to: number): void {
  out.reserve(to - from);
  if (to - from > 200) {
    out.bytes.set(raw.subarray(from, to), out.end);
    out.end += to - from;
    return;
  }
  const { bytes } = out;
  let { end } = out;
  for (let i = from; i < to; i++) bytes[end++] = raw[i]!;
  out.end = end;
}

/** Microseconds since 1970, from their two halves, as `YYYY-MM-DD` at midnight, else `YYYY-MM-DDTHH:MM:SS[.ffffff]`. */
export function writeDate(out: ByteSink, low: number, high: number): void {
  // 2^32 µs are 4294 s and 967,296 µs, so all numbers here remain integers that a double holds exactly.
  const micros = high * 967_296 + (low >>> 0);
  const more = Math.floor(micros / 1e6);
  const seconds = high * 4294 + more;
  const part = micros - more * 1e6;
  const day = Math.floor(seconds / 86_400);
  const second = seconds - day * 86_400;
  out.reserve(40);
  writeDay(out, day);
  if (second !== 0 || part !== 0) {
    out.bytes[out.end++] = 84; // T
    writeDigits(out, Math.floor(second / 3600), 2);
    out.bytes[out.end++] = 58; // :
    writeDigits(out, Math.floor(second / 60) % 60, 2);
    out.bytes[out.end++] = 58;
    writeDigits(out, second % 60, 2);
    if (part !== 0) {
      out.bytes[out.end++] = 46; // .
      writeDigits(out, part, 6);
    }
  }
}

/** Days since 1970 as year, month and day: Howard Hinnant's "civil_from_days", with years that begin in March. */
function writeDay(out: ByteSink, day: number): void {
  const shifted = day + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const march = Math.floor((5 * dayOfYear + 2) / 153);
  const month = march < 10 ? march + 3 : march - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  if (year < 0) {
    out.bytes[out.end++] = minus;
    writeDigits(out, -year, 1);
  } else {
    writeDigits(out, year, 4);
  }
  out.bytes[out.end++] = minus;
  writeDigits(out, month, 2);
  out.bytes[out.end++] = minus;
  writeDigits(out, dayOfYear - Math.floor((153 * march + 2) / 5) + 1, 2);
}
