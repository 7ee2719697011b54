import { floatAt } from '../text/numbers.js';

/**
 * The number that a cell holds, NaN when it is text: `nan`, `inf`, and what is too large for a double are. Choice: blanks
 * around a number do not make it a text.
 */
export function numberIn(bytes: Uint8Array, from: number, to: number): number {
  let start = from;
  let end = to;
  while (start < end && bytes[start] === 32) start++;
  while (end > start && bytes[end - 1] === 32) end--;
  const value = floatAt(bytes, start, end);
  return value - value === 0 ? value : NaN;
}
