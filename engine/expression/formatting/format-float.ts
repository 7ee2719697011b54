import {
  exponentText,
  fixedPointText,
  shortestDecimal,
  significantDecimal,
} from '../values/float-text.js';
import type { Runtime } from '../values/python-values.js';

/** Formats a double that is not negative by a presentation type of the operator `%` or of a format specification. */
export function floatDigits(
  runtime: Runtime,
  value: number,
  type: string,
  precision: number | undefined,
  isAlternate: boolean,
): string {
  const isUpper = type === 'E' || type === 'F' || type === 'G';
  if (!Number.isFinite(value)) {
    const text = Number.isNaN(value) ? 'nan' : 'inf';
    return (isUpper ? text.toUpperCase() : text) + (type === '%' ? '%' : '');
  }
  const places = precision ?? 6;
  runtime.budget.chargeText(places + 320);
  if (places > 100) runtime.budget.charge(places);
  const kind = type.toLowerCase();
  if (kind === 'f' || kind === '%') {
    const scaledValue = kind === '%' ? value * 100 : value;
    if (!Number.isFinite(scaledValue)) return 'inf%';
    const text = fixedDigits(scaledValue, places) + (isAlternate && places === 0 ? '.' : '');
    return kind === '%' ? `${text}%` : text;
  }
  const letter = isUpper ? 'E' : 'e';
  if (kind === 'e') {
    const { digits, exponent } = paddedDigits(value, places + 1);
    return scientificFormat(digits, exponent, letter, isAlternate);
  }
  return generalFormat(value, Math.max(1, places), letter, isAlternate, 0);
}

/** Formats a double that is not negative without a presentation type: like `repr`, or with a precision, nearly like `g`. */
export function untypedDigits(
  runtime: Runtime,
  value: number,
  precision: number | undefined,
  isAlternate: boolean,
): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : 'inf';
  if (precision !== undefined) {
    runtime.budget.chargeText(precision + 320);
    return generalFormat(value, Math.max(1, precision), 'e', isAlternate, 1);
  }
  if (value === 0) return '0.0';
  const { digits, exponent } = shortestDecimal(value);
  if (exponent < -4 || exponent >= 16) return scientificFormat(digits, exponent, 'e', isAlternate);
  return positionalFormat(digits, exponent, true);
}

/** An upper bound for the number of digits of the exact value of a double; all further digits are zeros. */
const maxExactDigits = 1100;

function fixedDigits(value: number, places: number): string {
  if (places <= maxExactDigits) return fixedPointText(value, places);
  return fixedPointText(value, maxExactDigits) + '0'.repeat(places - maxExactDigits);
}

function paddedDigits(value: number, count: number): { digits: string; exponent: number } {
  const { digits, exponent } = significantDecimal(value, Math.min(count, maxExactDigits));
  return { digits: digits.padEnd(count, '0'), exponent };
}

function scientificFormat(
  digits: string,
  exponent: number,
  letter: string,
  keepsPoint: boolean,
): string {
  const restOfDigits = digits.slice(1);
  const point = restOfDigits !== '' || keepsPoint ? '.' : '';
  return `${digits.charAt(0)}${point}${restOfDigits}${exponentText(exponent, letter)}`;
}

/** Returns the digits with the decimal point in its place; `needsFraction` appends `.0` to a whole number. */
function positionalFormat(digits: string, exponent: number, needsFraction: boolean): string {
  if (exponent < 0) return `0.${'0'.repeat(-exponent - 1)}${digits}`;
  const wholeDigits = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0');
  const fraction = digits.slice(exponent + 1);
  if (fraction === '') return needsFraction ? `${wholeDigits}.0` : wholeDigits;
  return `${wholeDigits}.${fraction}`;
}

function generalFormat(
  value: number,
  precision: number,
  letter: string,
  isAlternate: boolean,
  /** 1 if there is no presentation type: a whole number then gets `.0`, and the exponent is used from one digit earlier. */
  untyped: 0 | 1,
): string {
  const { digits, exponent } = paddedDigits(value, precision);
  const keptDigits = isAlternate ? digits : digits.replace(/0+$/, '') || '0';
  if (exponent < -4 || exponent >= precision - untyped)
    return scientificFormat(keptDigits, exponent, letter, isAlternate);
  const text = positionalFormat(keptDigits, exponent, untyped === 1);
  return isAlternate && !text.includes('.') ? `${text}.` : text;
}
