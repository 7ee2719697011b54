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
    const scaled = kind === '%' ? value * 100 : value;
    if (!Number.isFinite(scaled)) return 'inf%';
    const text = fixed(scaled, places) + (isAlternate && places === 0 ? '.' : '');
    return kind === '%' ? `${text}%` : text;
  }
  const letter = isUpper ? 'E' : 'e';
  if (kind === 'e') {
    const { digits, exponent } = padded(value, places + 1);
    return scientific(digits, exponent, letter, isAlternate);
  }
  return general(value, Math.max(1, places), letter, isAlternate, 0);
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
    return general(value, Math.max(1, precision), 'e', isAlternate, 1);
  }
  if (value === 0) return '0.0';
  const { digits, exponent } = shortestDecimal(value);
  if (exponent < -4 || exponent >= 16) return scientific(digits, exponent, 'e', isAlternate);
  return positional(digits, exponent, true);
}

/** More digits than these are zeros: a double has no more. */
const exactDigits = 1100;

function fixed(value: number, places: number): string {
  if (places <= exactDigits) return fixedText(value, places);
  return fixedText(value, exactDigits) + '0'.repeat(places - exactDigits);
}

function padded(value: number, count: number): { digits: string; exponent: number } {
  const { digits, exponent } = significantDecimal(value, Math.min(count, exactDigits));
  return { digits: digits.padEnd(count, '0'), exponent };
}

function scientific(digits: string, exponent: number, letter: string, keepsPoint: boolean): string {
  const rest = digits.slice(1);
  const point = rest !== '' || keepsPoint ? '.' : '';
  return `${digits.charAt(0)}${point}${rest}${exponentText(exponent, letter)}`;
}

/** Digits with the point in its place; `needsFraction` appends `.0` to a whole number. */
function positional(digits: string, exponent: number, needsFraction: boolean): string {
  if (exponent < 0) return `0.${'0'.repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0');
  const fraction = digits.slice(exponent + 1);
  if (fraction === '') return needsFraction ? `${whole}.0` : whole;
  return `${whole}.${fraction}`;
}

function general(
  value: number,
  precision: number,
  letter: string,
  isAlternate: boolean,
  /** 1 for a missing type, where a whole number gets `.0` and the exponent comes one digit earlier. */
  untyped: 0 | 1,
): string {
  const { digits, exponent } = padded(value, precision);
  const kept = isAlternate ? digits : digits.replace(/0+$/, '') || '0';
  if (exponent < -4 || exponent >= precision - untyped)
    return scientific(kept, exponent, letter, isAlternate);
  const text = positional(kept, exponent, untyped === 1);
  return isAlternate && !text.includes('.') ? `${text}.` : text;
}
