import type { Numbers } from '../column.js';
import { wordsOf } from '../mask.js';
import type { Bound, Predicate } from '../../query/predicate.js';
import { floating, type Span } from './number-bounds.js';
import { isSparse, type Selection } from './selection.js';

/*
 * One loop for each kind of array, for a loop that meets several is three times slower. They write four rows at a time: 4.6 ms for
 * five million numbers of 32 bits, row by row 8 ms.
 */

/** The 32-bit numbers of a span. */
export function integersIn(
  values: Int32Array,
  count: number,
  { from, to }: Span<number>,
  within: Selection,
): Selection {
  if (typeof within === 'object' && isSparse(within))
    return within.filter((i) => values[i]! >= from && values[i]! <= to);
  const mask = new Uint8Array(count);
  const words = wordsOf(mask);
  // Below `from` the difference turns into a large number.
  const size = (to - from) >>> 0;
  let i = 0;
  for (let word = 0; word < words.length; word++, i += 4) {
    words[word] =
      ((values[i]! - from) >>> 0 <= size ? 1 : 0) |
      ((values[i + 1]! - from) >>> 0 <= size ? 0x100 : 0) |
      ((values[i + 2]! - from) >>> 0 <= size ? 0x10000 : 0) |
      ((values[i + 3]! - from) >>> 0 <= size ? 0x1000000 : 0);
  }
  for (; i < count; i++) mask[i] = values[i]! >= from && values[i]! <= to ? 1 : 0;
  return mask;
}

/** The doubles of a span. */
export function numbersIn(
  values: Float64Array,
  count: number,
  { from, to }: Span<number>,
  within: Selection,
): Selection {
  if (typeof within === 'object' && isSparse(within))
    return within.filter((i) => values[i]! >= from && values[i]! <= to);
  const mask = new Uint8Array(count);
  const words = wordsOf(mask);
  let i = 0;
  for (let word = 0; word < words.length; word++, i += 4) {
    const [a, b, c, d] = [values[i]!, values[i + 1]!, values[i + 2]!, values[i + 3]!];
    words[word] =
      (Number(a >= from) & Number(a <= to)) |
      ((Number(b >= from) & Number(b <= to)) << 8) |
      ((Number(c >= from) & Number(c <= to)) << 16) |
      ((Number(d >= from) & Number(d <= to)) << 24);
  }
  for (; i < count; i++) mask[i] = values[i]! >= from && values[i]! <= to ? 1 : 0;
  return mask;
}

/** The floats of a span. */
export function singlesIn(
  values: Float32Array,
  count: number,
  { from, to }: Span<number>,
  within: Selection,
): Selection {
  if (typeof within === 'object' && isSparse(within))
    return within.filter((i) => values[i]! >= from && values[i]! <= to);
  const mask = new Uint8Array(count);
  const words = wordsOf(mask);
  let i = 0;
  for (let word = 0; word < words.length; word++, i += 4) {
    const [a, b, c, d] = [values[i]!, values[i + 1]!, values[i + 2]!, values[i + 3]!];
    words[word] =
      (Number(a >= from) & Number(a <= to)) |
      ((Number(b >= from) & Number(b <= to)) << 8) |
      ((Number(c >= from) & Number(c <= to)) << 16) |
      ((Number(d >= from) & Number(d <= to)) << 24);
  }
  for (; i < count; i++) mask[i] = values[i]! >= from && values[i]! <= to ? 1 : 0;
  return mask;
}

/** Where NaN or an infinity may be among the values: NaN is above all numbers, and equal to itself. */
export function strangeIn(
  values: Numbers['numbers'],
  count: number,
  { field, low, high }: Extract<Predicate, { kind: 'range' }>,
  within: Selection,
): Selection {
  const isAbove = (value: number, bound: Bound, sign: 1 | -1): boolean => {
    const order = compare(value, floating(field, bound.value)) * sign;
    return order > 0 || (order === 0 && bound.inclusive);
  };
  const test = (value: number): boolean =>
    (low === null || isAbove(value, low, 1)) && (high === null || isAbove(value, high, -1));
  if (typeof within === 'object' && isSparse(within)) return within.filter((i) => test(values[i]!));
  const mask = new Uint8Array(count);
  for (let i = 0; i < count; i++) mask[i] = test(values[i]!) ? 1 : 0;
  return mask;
}

function compare(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The 64-bit numbers of a span. A bigint for each would take 20 times longer, so they are compared by their halves. */
export function longsIn(
  values: BigInt64Array,
  count: number,
  { from, to }: Span<bigint>,
  within: Selection,
): Selection {
  if (from > to) return 'none';
  if (typeof within === 'object' && isSparse(within))
    return within.filter((i) => values[i]! >= from && values[i]! <= to);
  const halves = new Int32Array(values.buffer, values.byteOffset, count * 2);
  const [fromHigh, fromLow] = [Number(from >> 32n), Number(from & 0xffff_ffffn)];
  const [toHigh, toLow] = [Number(to >> 32n), Number(to & 0xffff_ffffn)];
  const mask = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    const low = halves[2 * i]! >>> 0;
    const high = halves[2 * i + 1]!;
    const isAbove = high > fromHigh || (high === fromHigh && low >= fromLow);
    mask[i] = isAbove && (high < toHigh || (high === toHigh && low <= toLow)) ? 1 : 0;
  }
  return mask;
}
