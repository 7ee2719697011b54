import { doubleText } from './double-text.js';
import { floatText } from './float-text.js';
import type { FieldRef } from '../../predicate/predicate.js';

export { doubleText, floatText };

/** The JSON text of a number of a field of this type, as the SQL path writes it; of dates microseconds, of booleans 0 and 1. */
export function numberText(value: number, type: FieldRef['type']): string {
  if (type === 'double') return doubleText(value);
  if (type === 'float') return floatText(value);
  if (type === 'date') return dateText(value);
  if (type === 'boolean') return value === 1 ? 'true' : 'false';
  return String(value);
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
