import type { ByteSink } from '../../parquet/byte-sink.js';
import { shortDouble } from './short-double.js';
import { writeShortest } from './shortest-digits.js';

/*
 * Numbers as ECMAScript writes them (ECMA-262, Number::toString), as bytes: most are written without a string of their own.
 */

const zero = 48;
const minus = 45;
const point = 46;

/** Characters below 128. */
export function writeAscii(out: ByteSink, text: string): void {
  const { length } = text;
  out.reserve(length);
  const { bytes } = out;
  let { end } = out;
  for (let i = 0; i < length; i++) bytes[end++] = text.charCodeAt(i);
  out.end = end;
}

/** A whole number that doubles hold exactly, below 10^21. */
export function writeWhole(out: ByteSink, value: number): void {
  out.reserve(20);
  let rest = value;
  if (rest < 0) {
    out.bytes[out.end++] = minus;
    rest = -rest;
  }
  if (rest >= 1e9) return writeAscii(out, String(rest));
  writeDigits(out, rest | 0, 1);
}

/** A whole number of 64 bits, from its two halves. */
export function writeLong(out: ByteSink, low: number, high: number): void {
  // Within 2^53, so that the double is exact.
  if (high >= -0x200000 && high < 0x200000) writeWhole(out, high * 2 ** 32 + (low >>> 0));
  else writeAscii(out, String((BigInt(high) << 32n) | BigInt(low >>> 0)));
}

/**
 * Writes the finite double `values[i]` as `String` does; it is not an argument, because that would be an object on the heap. Whole numbers
 * and decimals of at most 15 digits, 8 of them behind the point, need no string: two decimals of 15 digits are never the same double,
 * so the first that is found is the shortest.
 */
export function writeDouble(out: ByteSink, values: Float64Array, i: number): void {
  const value = values[i]!;
  const size = Math.abs(value);
  if (size < 1e-6 || size >= 1e15) {
    // Minus zero is written as zero.
    if (size === 0) return out.byte(zero);
    return writeAscii(out, String(value));
  }
  // A number with this many decimals probably has more.
  if (size >= 1e7 || Math.round(size * 1e8) / 1e8 === size) {
    for (let decimals = 0; decimals < scales.length; decimals++) {
      const scale = scales[decimals]!;
      const digits = Math.round(size * scale);
      if (digits > 1e15) break;
      if (digits / scale === size) return writeDecimal(out, value < 0, digits, decimals);
    }
  }
  if (!writeShortest(out, values, i)) writeAscii(out, String(value));
}

/** A finite 32-bit float: see `shortDouble`. */
export function writeFloat(out: ByteSink, value: number): void {
  float[0] = shortDouble(value);
  writeDouble(out, float, 0);
}

const float = new Float64Array(1);
const scales = Float64Array.from({ length: 9 }, (_, decimals) => 10 ** decimals);

/** Writes `digits` divided by the scale of this many decimals. */
function writeDecimal(out: ByteSink, isNegative: boolean, digits: number, decimals: number): void {
  const scale = scales[decimals]!;
  out.reserve(32);
  if (isNegative) out.bytes[out.end++] = minus;
  // Below 10^15, the quotient cannot be rounded up to the next integer.
  const whole = Math.floor(digits / scale);
  writeWhole(out, whole);
  if (decimals === 0) return;
  out.reserve(10);
  out.bytes[out.end++] = point;
  writeDigits(out, digits - whole * scale, decimals);
}

/** A number from 0 to 999,999,999, with zeros in front where it has fewer digits than `least`. The caller reserves the room. */
export function writeDigits(out: ByteSink, value: number, least: number): void {
  let digits = least;
  for (let limit = 10 ** least; value >= limit; limit *= 10) digits++;
  const { bytes, end } = out;
  let rest = value | 0;
  for (let at = end + digits - 1; at >= end; at--) {
    const tens = (rest / 10) | 0;
    bytes[at] = zero + rest - tens * 10;
    rest = tens;
  }
  out.end = end + digits;
}
