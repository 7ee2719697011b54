/** The decimal digits of a double that is not negative, and the exponent of the first digit: 0.00123 is `123` and -3. */
interface DecimalDigits {
  readonly digits: string;
  readonly exponent: number;
}

/** Formats a double like Python's `repr()`: with the shortest digits that read back as the same double, such as `1.0`, `1e+16`, `1e-05`. */
export function floatRepr(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e16)
    return Object.is(value, -0) ? '-0.0' : `${value}.0`;
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf';
  const size = Math.abs(value);
  if (size >= 1e-4 && size < 1e16) return String(value);
  const { digits, exponent } = shortestDecimal(size);
  const sign = value < 0 ? '-' : '';
  return `${sign}${digits.charAt(0)}${digits.length > 1 ? `.${digits.slice(1)}` : ''}${exponentText(exponent)}`;
}

/** Formats an exponent as Python does: a sign and at least two digits. */
export function exponentText(exponent: number, letter = 'e'): string {
  const size = String(Math.abs(exponent)).padStart(2, '0');
  return `${letter}${exponent < 0 ? '-' : '+'}${size}`;
}

/** Returns the shortest digits of a positive double that read back as the same double. */
export function shortestDecimal(value: number): DecimalDigits {
  const [mantissa, exponent] = value.toExponential().split('e') as [string, string];
  return { digits: mantissa.replace('.', ''), exponent: Number(exponent) };
}

/** Formats a positive double or zero with `places` digits after the point, rounded half to even on its exact value. */
export function fixedPointText(value: number, places: number): string {
  if (isEasilyFixed(value, places)) return value.toFixed(places);
  const text = scaledDigits(value, places)
    .toString()
    .padStart(places + 1, '0');
  if (places === 0) return text;
  return `${text.slice(0, -places)}.${text.slice(-places)}`;
}

/**
 * Whether `toFixed` is known to round a value that is not negative as Python does. Within the range of `toFixed`, they differ only exactly
 * halfway between two results. The double then has `places` + 1 binary digits after the point, so that its multiple by 2^(places + 1) is
 * odd.
 */
export function isEasilyFixed(value: number, places: number): boolean {
  return places <= 100 && Math.abs(value) < 1e21 && (value * 2 ** (places + 1)) % 2 !== 1;
}

/** Rounds a positive double or zero to `count` significant digits, half to even on its exact value. */
export function significantDecimal(value: number, count: number): DecimalDigits {
  if (value === 0) return { digits: '0'.repeat(count), exponent: 0 };
  let { exponent } = shortestDecimal(value);
  // `exponent` belongs to the shortest decimal that parses to `value`. Rounding to that decimal may have reached the next power of ten, so
  // `exponent` may be one too large, but never too small.
  let digits = scaledDigits(value, count - 1 - exponent).toString();
  if (digits.length > count) {
    exponent += 1;
    digits = scaledDigits(value, count - 1 - exponent).toString();
  } else if (digits.length < count) {
    exponent -= 1;
    digits = scaledDigits(value, count - 1 - exponent).toString();
  }
  if (digits.length > count) {
    exponent += 1;
    digits = digits.slice(0, count);
  }
  return { digits, exponent };
}

/** Returns the integer nearest to value * 10^places, half to even, for the exact value of a finite double that is not negative. */
function scaledDigits(value: number, places: number): bigint {
  const { mantissa, power } = mantissaAndPower(value);
  let numerator = mantissa;
  let denominator = 1n;
  if (power >= 0) numerator <<= BigInt(power);
  else denominator <<= BigInt(-power);
  if (places >= 0) numerator *= 10n ** BigInt(places);
  else denominator *= 10n ** BigInt(-places);
  return divideHalfEven(numerator, denominator);
}

/** Returns the quotient of two integers that are not negative, rounded half to even. */
export function divideHalfEven(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator;
  const twiceRemainder = 2n * (numerator - quotient * denominator);
  const isUp =
    twiceRemainder > denominator || (twiceRemainder === denominator && (quotient & 1n) === 1n);
  return isUp ? quotient + 1n : quotient;
}

const float64View = new DataView(new ArrayBuffer(8));

/** Decomposes a finite double that is not negative into mantissa * 2^power. */
export function mantissaAndPower(value: number): {
  readonly mantissa: bigint;
  readonly power: number;
} {
  float64View.setFloat64(0, value);
  const bits = float64View.getBigUint64(0);
  const exponent = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xfffffffffffffn;
  if (exponent === 0) return { mantissa: fraction, power: -1074 };
  return { mantissa: fraction | 0x10000000000000n, power: exponent - 1075 };
}
