import type { FieldRef } from '../predicate/predicate.js';
import { shortDouble } from './short-double.js';

/** Returns a double as ECMAScript writes it; `null` for NaN and the infinities, which JSON does not have. */
export function doubleText(value: number): string {
  return Number.isFinite(value) ? String(value) : 'null';
}

/** Returns a 32-bit float with the fewest digits that read back as the same float; `null` for NaN and the infinities. */
export function floatText(value: number): string {
  return doubleText(shortDouble(value));
}

/** Returns the JSON of a number of a field of this type; a date is given in microseconds, a boolean as 0 or 1. */
export function numberText(value: number, type: FieldRef['type']): string {
  if (type === 'float') return floatText(value);
  if (type === 'date') return dateText(value);
  if (type === 'boolean') return value === 1 ? 'true' : 'false';
  return doubleText(value);
}

/** Rewrites the numbers in JSON of the SQL engine as ECMAScript writes them: `1.0` becomes `1`; whole numbers stay exact. */
export function normalizeJsonNumbers(json: string): string {
  return json.replaceAll(jsonStringOrRealPattern, (token) =>
    token.startsWith('"') ? token : String(Number(token)),
  );
}

const jsonStringOrRealPattern = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+)/g;

/** Returns `"YYYY-MM-DD"` at midnight, else `"YYYY-MM-DDTHH:MM:SS"`, with six decimals of the second if it has a fraction. */
export function dateText(micros: number): string {
  const seconds = Math.floor(micros / 1e6);
  const microsOfSecond = micros - seconds * 1e6;
  const text = new Date(seconds * 1000).toISOString().slice(0, -'.000Z'.length);
  if (microsOfSecond !== 0) return `"${text}.${String(microsOfSecond).padStart(6, '0')}"`;
  return text.endsWith('T00:00:00') ? `"${text.slice(0, -'T00:00:00'.length)}"` : `"${text}"`;
}

/** Returns a string as a JSON literal. Control characters have capital hexadecimal digits, as in `\u001F`. */
export function quoteJson(text: string): string {
  const json = JSON.stringify(text);
  if (!json.includes('\\u')) return json;
  return json.replaceAll(jsonEscapePattern, (escape) =>
    escape.length > 2 ? `\\u${escape.slice(2).toUpperCase()}` : escape,
  );
}

/** The pattern matches all escapes, so that the second of two backslashes is not mistaken for the start of an escape. */
const jsonEscapePattern = /\\(?:u[0-9a-f]{4}|.)/g;
