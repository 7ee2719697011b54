import { lowPart } from '../../core/exact-product.js';
import type { ByteSink } from '../../parquet/byte-sink.js';

/*
 * The shortest decimal that reads back as a double, of several the nearest (ECMA-262, Number::toString, step 5), without a string: the double
 * times a power of ten is known exactly as the sum of two doubles, and so is half the distance to the next double, scaled alike.
 */

/** The distance up to which two numbers may be equal: much more than the rounding errors below, much less than a digit. */
const margin = 1e-6;

/**
 * Writes `values[i]`, whose size is from 10^-6 up to 10^15 and no whole number. Returns false, and writes nothing, where it cannot tell: for powers of two,
 * below which doubles are closer together, and where two decimals are as near.
 */
export function writeShortest(out: ByteSink, values: Float64Array, i: number): boolean {
  const value = values[i]!;
  const isNegative = value < 0;
  const size = isNegative ? -value : value;
  let exponent = size < 1 ? -1 : 0;
  if (exponent < 0) while (size < powers[exponent + lowest]!) exponent--;
  else while (size >= powers[exponent + lowest + 1]!) exponent++;
  // The scale for numbers from 10^16 to 10^17, which have 17 digits. Powers up to 10^22 are exact doubles.
  const power = powers[16 - exponent + lowest]!;
  const high = size * power;
  const low = lowPart(size, power, high);
  const ulp = size + size * nearlyHalfUlp - size;
  if (size - (size - size * nearlyHalfUlp) !== ulp) return false; // a power of two
  const half = (ulp / 2) * power;
  // The scaled double is head * 10^8 + tail.
  let head = Math.floor(high / 1e8);
  let tail = high - head * 1e8 + low;
  if (tail < 0) {
    head--;
    tail += 1e8;
  } else if (tail >= 1e8) {
    head++;
    tail -= 1e8;
  }
  for (let unit = 100; unit > 0; unit = unit === 100 ? 10 : unit === 10 ? 1 : 0) {
    const rounded = Math.round(tail / unit) * unit;
    const distance = Math.abs(rounded - tail);
    if (Math.abs(distance - half) < margin || Math.abs(distance - unit / 2) < margin) return false;
    if (distance > half) continue;
    const carry = rounded >= 1e8 ? 1 : 0;
    writeDigitsAt(out, isNegative, head + carry, rounded - carry * 1e8, exponent);
    return true;
  }
  return false;
}

/** Powers of ten from 10^-7 to 10^23; negative ones are only compared with. */
const lowest = 7;
const powers = Float64Array.from({ length: 31 }, (_, i) => Number(`1e${i - lowest}`));

/** A double plus this part of itself is the next larger double (Rump, Zimmermann, Boldo and Melquiond, 2009). */
const nearlyHalfUlp = 2 ** -53 * (1 + 2 ** -52);

const zero = 48;

/** Writes 17 digits, nine of `head` and eight of `tail`, without the zeros at their end; the first one stands for 10^exponent. */
function writeDigitsAt(
  out: ByteSink,
  isNegative: boolean,
  head: number,
  tail: number,
  exponent: number,
): void {
  // A carry out of all nines: 10^9 is the power of ten above.
  const isRound = head === 1e9;
  const first = exponent + (isRound ? 1 : 0);
  out.reserve(32);
  const { bytes } = out;
  let { end } = out;
  if (isNegative) bytes[end++] = 45;
  // Room for the point, which goes behind the digit of 10^0.
  let at = end;
  if (first < 0) {
    bytes[end++] = zero;
    bytes[end++] = 46;
    for (let i = -1; i > first; i--) bytes[end++] = zero;
    at = end;
  }
  writeEight(bytes, at + 9, tail);
  const upper = isRound ? 1e8 : head;
  const upperEight = Math.floor(upper / 10);
  writeEight(bytes, at, upperEight);
  bytes[at + 8] = zero + upper - 10 * upperEight;
  let digits = 17;
  while (digits > first + 1 && bytes[at + digits - 1] === zero) digits--;
  end = at + digits;
  if (first >= 0 && digits > first + 1) {
    bytes.copyWithin(at + first + 2, at + first + 1, end);
    bytes[at + first + 1] = 46;
    end++;
  }
  out.end = end;
}

/** The digits of 0 to 99, two for each. */
const pairs = Uint8Array.from({ length: 200 }, (_, i) => zero + (i % 2 === 0 ? Math.floor(i / 20) : (i >> 1) % 10)); // prettier-ignore

/** Eight digits of a number below 10^8. */
function writeEight(bytes: Uint8Array, at: number, value: number): void {
  const upper = (value / 10_000) | 0;
  const lower = (value - 10_000 * upper) | 0;
  const a = (upper / 100) | 0;
  const b = (lower / 100) | 0;
  writePair(bytes, at, a);
  writePair(bytes, at + 2, upper - 100 * a);
  writePair(bytes, at + 4, b);
  writePair(bytes, at + 6, lower - 100 * b);
}

function writePair(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = pairs[2 * value]!;
  bytes[at + 1] = pairs[2 * value + 1]!;
}
