/** Powers of ten that a double holds exactly. */
export const powersOfTen: readonly number[] = Array.from({ length: 23 }, (_, i) => 10 ** i);

/**
 * Returns the decimal integer `bytes[from..to)`; NaN if the text is not an integer, or has more than 15 digits after its sign and leading
 * zeros (see `isDecimalInteger`).
 */
export function parseInteger(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  const sign = bytes[at];
  if (sign === 45 || sign === 43) at++;
  while (to - at > 15 && bytes[at] === 48) at++;
  if (at >= to || to - at > 15) return NaN;
  let value = 0;
  for (; at < to; at++) {
    const digit = bytes[at]! - 48;
    if (digit < 0 || digit > 9) return NaN;
    value = value * 10 + digit;
  }
  return sign === 45 ? -value : value;
}

/** Returns whether `bytes[from..to)` is a decimal integer of any length. */
export function isDecimalInteger(bytes: Uint8Array, from: number, to: number): boolean {
  const start = bytes[from] === 45 || bytes[from] === 43 ? from + 1 : from;
  if (start >= to) return false;
  for (let at = start; at < to; at++) if (bytes[at]! < 48 || bytes[at]! > 57) return false;
  return true;
}

/**
 * Returns the floating-point number `bytes[from..to)`, rounded as `Number` rounds it, or infinity for `inf` and `infinity`; NaN for `nan`,
 * for text that is not a number (`isNotANumber` distinguishes these), and for a text of more than 1,100 bytes that only `Number` can parse.
 * Up to 15 digits with a power of ten up to 22 need only one division or multiplication (Clinger's fast path, 1990); this covers nearly
 * all values of real files. Values with more digits are parsed by `parseLongDecimal` if possible; all other values are parsed by `Number`.
 */
export function parseFloatBytes(bytes: Uint8Array, from: number, to: number): number {
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
    const exponent = parseExponent(bytes, at, to);
    if (exponent !== exponent) return parseFloatViaString(bytes, from, to);
    decimals -= exponent;
  } else if (digits > 15) {
    const value = parseLongDecimal(bytes, from, to);
    if (value === value) return value;
  }
  if (digits === 0 || digits > 15 || decimals > 22 || decimals < -22)
    return parseFloatViaString(bytes, from, to);
  const value =
    decimals >= 0 ? mantissa / powersOfTen[decimals]! : mantissa * powersOfTen[-decimals]!;
  return isNegative ? -value : value;
}

/**
 * If the sum of two doubles is within this relative distance of the middle between two doubles, rounding is undecided. It is much greater
 * than the rounding errors of `parseLongDecimal`.
 */
const roundingMargin = 1e-28;

/**
 * Returns the decimal `bytes[from..to)` of 16 to 30 significant digits, with up to 22 digits after the point, rounded as `Number` rounds
 * it, without creating a string. Returns NaN for any other text, and for a value so close to the middle between two doubles that only more
 * digits can decide. The digits are represented as the sum of two doubles; so is their quotient by a power of ten, with an error below
 * 10^-30 of it (Dekker, "A floating-point technique for extending the available precision", 1971).
 */
export function parseLongDecimal(bytes: Uint8Array, from: number, to: number): number {
  const isNegative = bytes[from] === 45;
  let [high, low, digits, point] = [0, 0, 0, -1];
  for (let at = isNegative || bytes[from] === 43 ? from + 1 : from; at < to; at++) {
    const digit = bytes[at]! - 48;
    if (digit >= 0 && digit <= 9) {
      if (digits < 15) high = high * 10 + digit;
      else low = low * 10 + digit;
      if (digits > 0 || digit > 0) digits++; // leading zeros are not significant digits
    } else if (bytes[at] === 46 && point < 0) point = at;
    else return NaN;
  }
  const decimals = point < 0 ? 0 : to - point - 1;
  if (digits <= 15 || digits > 30 || decimals > 22) return NaN;
  const unit = powersOfTen[digits - 15]!;
  const product = high * unit;
  const sum = product + low;
  const addedPart = sum - product;
  const errorTerm =
    product - (sum - addedPart) + (low - addedPart) + productRoundingError(high, unit, product);
  const power = powersOfTen[decimals]!;
  const quotient = sum / power;
  const backProduct = quotient * power;
  const correction =
    (sum - backProduct - productRoundingError(quotient, power, backProduct) + errorTerm) / power;
  const maxError = quotient * roundingMargin;
  const value = quotient + (correction + maxError);
  if (value !== quotient + (correction - maxError)) return NaN;
  return isNegative ? -value : value;
}

/** Returns the exponent `bytes[at..to)`, which begins with `e`; NaN if it is malformed or has more than three digits. */
function parseExponent(bytes: Uint8Array, at: number, to: number): number {
  const sign = bytes[at + 1];
  const digitsFrom = sign === 45 || sign === 43 ? at + 2 : at + 1;
  if ((bytes[at]! | 32) !== 101 || digitsFrom >= to || to - digitsFrom > 3) return NaN;
  let value = 0;
  for (let i = digitsFrom; i < to; i++) {
    const digit = bytes[i]! - 48;
    if (digit < 0 || digit > 9) return NaN;
    value = value * 10 + digit;
  }
  return sign === 45 ? -value : value;
}

const decimalPattern = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/;
const infinityPattern = /^[-+]?inf(?:inity)?$/i;

function parseFloatViaString(bytes: Uint8Array, from: number, to: number): number {
  const text = latin1Text(bytes, from, to, 1100); // 1100 characters suffice: the exact value of a double has fewer digits
  if (to - from > 1100) return NaN;
  if (decimalPattern.test(text)) return Number(text);
  if (infinityPattern.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  return NaN;
}

/** Returns whether the text is NaN as VCF writes it (VCF 4.3, section 1.3). */
export function isNotANumber(bytes: Uint8Array, from: number, to: number): boolean {
  return to - from <= 4 && /^[-+]?nan$/i.test(latin1Text(bytes, from, to));
}

/** Returns whether the text is an infinity as VCF writes it, or a number too large for a double. */
export function isInfinite(bytes: Uint8Array, from: number, to: number): boolean {
  const value = parseFloatBytes(bytes, from, to);
  return value === Infinity || value === -Infinity;
}

/** Returns the first `maxBytes` bytes of `bytes[from..to)` as Latin-1 text, for messages and for text that is ASCII by definition. */
export function latin1Text(bytes: Uint8Array, from: number, to: number, maxBytes = 80): string {
  let text = '';
  const end = Math.min(to, from + maxBytes);
  for (let at = from; at < end; at++) text += String.fromCharCode(bytes[at]!);
  return text;
}

/**
 * Returns whether a text that is not an integer is a number with a fraction or an exponent, such as `2.444`: some headers declare the type
 * Integer for keys with such values. False for an integer out of range, which is an error.
 */
export function isFractionalNumber(bytes: Uint8Array, from: number, to: number): boolean {
  const text = latin1Text(bytes, from, to);
  return to - from < 80 && decimalPattern.test(text) && /[.eE]/.test(text);
}

/**
 * Returns the exact difference between the product of two doubles and `roundedProduct`, their product as a double (Dekker's product, with
 * Veltkamp's splitting).
 */
function productRoundingError(a: number, b: number, roundedProduct: number): number {
  const scaledA = a * 134_217_729;
  const highA = scaledA - (scaledA - a);
  const lowA = a - highA;
  const scaledB = b * 134_217_729;
  const highB = scaledB - (scaledB - b);
  const lowB = b - highB;
  return lowA * lowB - (roundedProduct - highA * highB - lowA * highB - highA * lowB);
}
