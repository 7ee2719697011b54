import { AppError } from '../../engine/core/errors.js';

/** The bytes to send: from `start` up to (not including) `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Reads a `Range` header: one range is served, several or an unknown unit mean the whole file, one beyond the end is 416
 * (threat D10). Undefined: send everything.
 */
export function readRange(header: string | undefined, size: number): ByteRange | undefined {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '');
  if (!match) return undefined;
  const [, first = '', last = ''] = match;
  if (first === '' && last === '') return undefined;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size : Math.min(size, Number(last) + 1);
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined; // reversed: not a range
  if (start >= size || start >= end) {
    throw new AppError('range', `the file has ${size} bytes; the range begins beyond its end`);
  }
  return { start, end };
}
