import type { FieldRef } from '../../query/predicate.js';

/** The JSON text of a number of a field of this type, as the SQL path writes it; of dates microseconds, of booleans 0 and 1. */
export function numberText(value: number, type: FieldRef['type']): string {
  if (type === 'double') return doubleText(value);
  if (type === 'float') return floatText(value);
  if (type === 'date') return dateText(value);
  if (type === 'boolean') return value === 1 ? 'true' : 'false';
  return String(value);
}

/** The shortest digits that are this double again: `1.0`, `1e-05`, `1e+16`; `null` if JSON has no such number. */
export function doubleText(value: number): string {
  if (!Number.isFinite(value)) return 'null';
  const size = Math.abs(value);
  if (size >= 1e-4 && size < 1e16) return Number.isInteger(value) ? `${value}.0` : String(value);
  if (size === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  return value.toExponential().replace(/(?<=e[+-])\d$/, '0$&');
}

/**
 * The shortest digits that are this 32-bit float again, and of those as short the nearest. Where that is not clear, for two are as near or
 * the nearest is as near to another float, the SQL engine takes those that are this number among the doubles.
 */
export function floatText(value: number): string {
  if (!Number.isFinite(value) || value === 0) return doubleText(value);
  const size = Math.abs(value);
  const exponent = Math.max(leastExponent, exponentOf(size));
  const isPower = size === 2 ** exponent && exponent > leastExponent;
  // As far as numbers may be away in either direction; floats below a power of two are closer to each other.
  const above = 2 ** (exponent - 24);
  const below = isPower ? above / 2 : above;
  // Every decimal of six digits comes back from a float; below, among the smallest, fewer do.
  for (let digits = size < 1.2e-38 ? 1 : 6; digits < 9; digits++) {
    const short = shortened(size, digits, below);
    const away = short - size;
    if (away > above || -away > below) continue;
    const longer = size.toExponential(digits);
    const isBetween = longer.includes('5e') && Number(longer) === size;
    if (isBetween || away === above || -away === below) return doubleText(value);
    return doubleText(value < 0 ? -short : short);
  }
  return doubleText(Number(value.toPrecision(9)));
}

/** Of the normal floats. */
const leastExponent = -126;

function exponentOf(size: number): number {
  const guess = Math.floor(Math.log2(size));
  if (2 ** guess > size) return guess - 1;
  return 2 ** (guess + 1) <= size ? guess + 1 : guess;
}

/** The number of so many digits next to `size`: the one above it if the one below is further away than `below`. */
function shortened(size: number, digits: number, below: number): number {
  const text = size.toExponential(digits - 1);
  const short = Number(text);
  if (size - short <= below) return short;
  const [mantissa, exponent] = text.split('e') as [string, string];
  const next = Number(mantissa.replace('.', '')) + 1;
  return Number(`${next}e${Number(exponent) - digits + 1}`);
}

/** `"YYYY-MM-DD"` at midnight, else `"YYYY-MM-DDTHH:MM:SS"`, with six digits of a second if it has a part. */
export function dateText(micros: number): string {
  const seconds = Math.floor(micros / 1e6);
  const part = micros - seconds * 1e6;
  const text = new Date(seconds * 1000).toISOString().slice(0, 19);
  if (part !== 0) return `"${text}.${String(part).padStart(6, '0')}"`;
  return text.endsWith('T00:00:00') ? `"${text.slice(0, 10)}"` : `"${text}"`;
}

/** The JSON text of a text: control characters with capital digits. */
export function quoted(text: string): string {
  const json = JSON.stringify(text);
  if (!json.includes('\\u')) return json;
  return json.replaceAll(escapes, (escape) =>
    escape.length > 2 ? `\\u${escape.slice(2).toUpperCase()}` : escape,
  );
}

/** Every escape, so that the second of two backslashes is not taken for the start of one. */
const escapes = /\\(?:u[0-9a-f]{4}|.)/g;
