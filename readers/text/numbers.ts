/** Powers of ten that a double holds exactly. */
export const powersOfTen: readonly number[] = Array.from({ length: 23 }, (_, i) => 10 ** i);

/** The decimal integer `bytes[from..to)`; NaN when the text is not one, or has more than 15 characters after its sign (see `isDigits`). */
export function integerAt(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  const sign = bytes[at];
  if (sign === 45 || sign === 43) at++;
  if (at >= to || to - at > 15) return NaN;
  let value = 0;
  for (; at < to; at++) {
    const digit = bytes[at]! - 48;
    if (digit < 0 || digit > 9) return NaN;
    value = value * 10 + digit;
  }
  return sign === 45 ? -value : value;
}

/** Whether `bytes[from..to)` is a decimal integer of any length. */
export function isDigits(bytes: Uint8Array, from: number, to: number): boolean {
  const start = bytes[from] === 45 || bytes[from] === 43 ? from + 1 : from;
  if (start >= to) return false;
  for (let at = start; at < to; at++) if (bytes[at]! < 48 || bytes[at]! > 57) return false;
  return true;
}

/**
 * The floating-point number `bytes[from..to)`, rounded as `Number` rounds it; NaN for `nan` and for text that is not a number
 * (`isNotANumber` tells them apart). Up to 15 digits with a power of ten up to 22 need one exact division or multiplication
 * (Clinger's fast path, 1990); this covers nearly all values of real files. Of the others, those with more digits are often left to `longDecimalAt`, and the rest
 * goes through `Number`.
 */
export function floatAt(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  const isNegative = bytes[at] === 45;
  if (isNegative || bytes[at] === 43) at++;
  let mantissa = 0;
  let digits = 0;
  let decimals = 0;
  let hasPoint = false;
  for (; at < to; at++) {
    const c = bytes[at]!;
    const digit = c - 48;
    if (digit >= 0 && digit <= 9) {
      mantissa = mantissa * 10 + digit;
      digits++;
      if (hasPoint) decimals++;
    } else if (c === 46 && !hasPoint) hasPoint = true;
    else break;
  }
  if (at < to) {
    const exponent = exponentAt(bytes, at, to);
    if (exponent !== exponent) return slowFloat(bytes, from, to);
    decimals -= exponent;
  } else if (digits > 15) {
    const value = longDecimalAt(bytes, from, to);
    if (value === value) return value;
  }
  if (digits === 0 || digits > 15 || decimals > 22 || decimals < -22)
    return slowFloat(bytes, from, to);
  const value =
    decimals >= 0 ? mantissa / powersOfTen[decimals]! : mantissa * powersOfTen[-decimals]!;
  return isNegative ? -value : value;
}

/**
 * The relative distance within which the sum of two doubles may be the middle between two other doubles: much more than the rounding errors
 * of `longDecimalAt`.
 */
const margin = 1e-28;

/**
 * The decimal `bytes[from..to)` of up to 30 digits, of which up to 22 follow the point, rounded as `Number` rounds it and without a string;
 * NaN for any other text, and for a value that is so close to the middle between two doubles that only more digits can decide. The digits
 * are represented as the sum of two doubles, and so is their quotient by a power of ten, with an error below 10^-30 of it (Dekker, "A
 * floating-point technique for extending the available precision", 1971).
 */
export function longDecimalAt(bytes: Uint8Array, from: number, to: number): number {
  const isNegative = bytes[from] === 45;
  let [high, low, digits, point] = [0, 0, 0, -1];
  for (let at = isNegative || bytes[from] === 43 ? from + 1 : from; at < to; at++) {
    const digit = bytes[at]! - 48;
    if (digit >= 0 && digit <= 9) {
      if (digits < 15) high = high * 10 + digit;
      else low = low * 10 + digit;
      if (digits > 0 || digit > 0) digits++; // leading zeros are no significant digits
    } else if (bytes[at] === 46 && point < 0) point = at;
    else return NaN;
  }
  const decimals = point < 0 ? 0 : to - point - 1;
  if (digits <= 15 || digits > 30 || decimals > 22) return NaN;
  const unit = powersOfTen[digits - 15]!;
  const product = high * unit;
  const sum = product + low;
  const added = sum - product;
  const errorTerm = product - (sum - added) + (low - added) + lowPart(high, unit, product);
  const power = powersOfTen[decimals]!;
  const quotient = sum / power;
  const backProduct = quotient * power;
  const correction =
    (sum - backProduct - lowPart(quotient, power, backProduct) + errorTerm) / power;
  const error = quotient * margin;
  const value = quotient + (correction + error);
  if (value !== quotient + (correction - error)) return NaN;
  return isNegative ? -value : value;
}

/** The exponent `bytes[at..to)`, which begins with `e`; NaN when it is malformed or has more than three digits. */
function exponentAt(bytes: Uint8Array, at: number, to: number): number {
  const sign = bytes[at + 1];
  const first = sign === 45 || sign === 43 ? at + 2 : at + 1;
  if ((bytes[at]! | 32) !== 101 || first >= to || to - first > 3) return NaN;
  let value = 0;
  for (let i = first; i < to; i++) {
    const digit = bytes[i]! - 48;
    if (digit < 0 || digit > 9) return NaN;
    value = value * 10 + digit;
  }
  return sign === 45 ? -value : value;
}

const decimal = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/;
const infinite = /^[-+]?inf(?:inity)?$/i;

function slowFloat(bytes: Uint8Array, from: number, to: number): number {
  const text = latin1(bytes, from, to, 1100); // the exact value of a double has fewer digits
  if (to - from > 1100) return NaN;
  if (decimal.test(text)) return Number(text);
  if (infinite.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  return NaN;
}

/** Whether the text is NaN as VCF writes it (VCF 4.3, section 1.3). */
export function isNotANumber(bytes: Uint8Array, from: number, to: number): boolean {
  return to - from <= 4 && /^[-+]?nan$/i.test(latin1(bytes, from, to));
}

/** Whether the text is an infinity as VCF writes it, or a number too large for a double. */
export function isInfinite(bytes: Uint8Array, from: number, to: number): boolean {
  const value = floatAt(bytes, from, to);
  return value === Infinity || value === -Infinity;
}

/** The first `most` bytes of `bytes[from..to)` as Latin-1 text: for messages and for text that is ASCII by definition. */
export function latin1(bytes: Uint8Array, from: number, to: number, most = 80): string {
  let text = '';
  const end = Math.min(to, from + most);
  for (let at = from; at < end; at++) text += String.fromCharCode(bytes[at]!);
  return text;
}

/**
 * Whether a text that is not an integer is a number with a fraction or an exponent, such as `2.444`: some headers declare the type Integer
 * for keys with such values. False for an integer out of range, which is an error.
 */
export function isWiderNumber(bytes: Uint8Array, from: number, to: number): boolean {
  const text = latin1(bytes, from, to);
  return to - from < 80 && decimal.test(text) && /[.eE]/.test(text);
}

/** The exact difference between the product of two doubles and the rounded product `high` (Dekker's product, with Veltkamp's splitting). */
function lowPart(a: number, b: number, high: number): number {
  const scaledA = a * 134_217_729;
  const highA = scaledA - (scaledA - a);
  const lowA = a - highA;
  const scaledB = b * 134_217_729;
  const highB = scaledB - (scaledB - b);
  const lowB = b - highB;
  return lowA * lowB - (high - highA * highB - lowA * highB - highA * lowB);
}
