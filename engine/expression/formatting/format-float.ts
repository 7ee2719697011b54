import {
  exponentText,
  fixedText,
  shortestDecimal,
  significantDecimal,
} from '../values/float-text.js';
import type { Runtime } from '../values/values.js';

/** The text of a positive double in a presentation of `%` and of format specifications. */
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
  runtime.budget.text(places + 320);
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

/** The text of a positive double where no type is given: as `repr`, or with a precision much like `g`. */
export function untypedDigits(
  runtime: Runtime,
  value: number,
  precision: number | undefined,
  isAlternate: boolean,
): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : 'inf';
  if (precision !== undefined) {
    runtime.budget.text(precision + 320);
    return generalFormat(value, Math.max(1, precision), 'e', isAlternate, 1);
  }
  if (value === 0) return '0.0';
  const { digits, exponent } = shortestDecimal(value);
  if (exponent < -4 || exponent >= 16) return scientificFormat(digits, exponent, 'e', isAlternate);
  return positionalFormat(digits, exponent, true);
}

/** The number of digits of a double; all further digits are zeros. */
const exactDigits = 1100;

function fixedDigits(value: number, places: number): string {
  if (places <= exactDigits) return fixedText(value, places);
  return fixedText(value, exactDigits) + '0'.repeat(places - exactDigits);
}

function paddedDigits(value: number, count: number): { digits: string; exponent: number } {
  const { digits, exponent } = significantDecimal(value, Math.min(count, exactDigits));
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

/** Digits with the point in its place; `needsFraction` appends `.0` to a whole number. */
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
  /** 1 for a missing type, where a whole number gets `.0` and the exponent comes one digit earlier. */
  untyped: 0 | 1,
): string {
  const { digits, exponent } = paddedDigits(value, precision);
  const keptDigits = isAlternate ? digits : digits.replace(/0+$/, '') || '0';
  if (exponent < -4 || exponent >= precision - untyped)
    return scientificFormat(keptDigits, exponent, letter, isAlternate);
  const text = positionalFormat(keptDigits, exponent, untyped === 1);
  return isAlternate && !text.includes('.') ? `${text}.` : text;
}
