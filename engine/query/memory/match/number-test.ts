import type { ColumnValues, Numbers } from '../column.js';
import { invert } from '../selection-bytes.js';
import type { OfKind, Scalar } from '../../predicate/predicate.js';
import type { ValueTest } from './row-test.js';
import { longsIn, numbersIn, numbersWithNaNIn } from './number-range.js';
import { ofEntries } from './dictionary-test.js';
import { listTest } from './number-list.js';
import {
  doubleSpan,
  spanWithinSafeIntegers,
  floating,
  integerSpan,
  isWhole,
  int32sIn,
  wholeSpan,
  type NumberRange,
} from './number-bounds.js';
import { isSparse, type SelectionVector, type TestResult } from './selection-vector.js';
import type { Unsupported } from '../../unsupported.js';

/** Selects the numbers or dates of a range. */
export function numberRange(predicate: OfKind<'range'>): ValueTest {
  return isWhole(predicate.field.type) ? wholeRange(wholeSpan(predicate)) : floatRange(predicate);
}

function wholeRange(span: NumberRange<bigint>): ValueTest {
  return numeric((values, count, within) => {
    if (values.kind === 'longs') return longsIn(values.longs, count, span, within);
    const { numbers } = values;
    if (numbers instanceof Float32Array) return mismatch('whole numbers', 'floats');
    const part = isInt32s(numbers) ? integerSpan(span) : spanWithinSafeIntegers(span);
    return part === undefined ? 'none' : numbersIn(numbers, count, part, within);
  });
}

/** True for arrays of integers that have 32 bits at most. */
function isInt32s(numbers: Numbers['numbers']): boolean {
  return numbers instanceof Int32Array || numbers instanceof Uint8Array;
}

function floatRange(predicate: OfKind<'range'>): ValueTest {
  const span = doubleSpan(predicate);
  return numeric((values, count, within) => {
    if (values.kind === 'longs') return mismatch('floats', 'whole numbers');
    const { numbers, hasNonFinite } = values;
    if (hasNonFinite) return numbersWithNaNIn(numbers, count, predicate, within);
    // A NaN bound makes the span empty.
    const part = isInt32s(numbers) ? int32sIn(span) : span;
    return part.from <= part.to ? numbersIn(numbers, count, part, within) : 'none';
  });
}

/** Selects the numbers that equal one of some values. */
export function numberEquality({ field, values }: OfKind<'in'>): ValueTest {
  const [only] = values;
  if (values.length === 1 && only !== undefined) {
    const end = { value: only, inclusive: true };
    return numberRange({ kind: 'range', field, low: end, high: end });
  }
  if (!isWhole(field.type)) return listedNumbers(values.map((value) => floating(field, value)));
  const wanted = values as readonly bigint[];
  const test = listedNumbers(wanted.filter(isExact).map(Number));
  const all = new Set(wanted);
  return numeric((stored, count, within) => {
    if (stored.kind === 'numbers') return test.find(stored, count, within, () => undefined);
    const { longs } = stored;
    if (typeof within === 'object' && isSparse(within))
      return within.filter((i) => all.has(longs[i]!));
    const selected = new Uint8Array(count);
    for (let i = 0; i < count; i++) selected[i] = all.has(longs[i]!) ? 1 : 0;
    return selected;
  });
}

function isExact(value: bigint): boolean {
  return value >= -(2n ** 53n) && value <= 2n ** 53n;
}

function listedNumbers(wanted: readonly number[]): ValueTest {
  const find = listTest(wanted);
  return numeric((values, count, within) => {
    if (values.kind === 'longs') return mismatch('floats', 'whole numbers');
    return find(values.numbers, count, within);
  });
}

/** Selects the booleans that are among some values. */
export function booleanEquality(wanted: readonly Scalar[]): ValueTest {
  const [isTrue, isFalse] = [wanted.includes(true), wanted.includes(false)];
  return {
    find(values, count) {
      if (values.kind !== 'flags') return mismatch('booleans', values.kind);
      if (isTrue === isFalse) return isTrue ? 'all' : 'none';
      const selected = values.flags.slice(0, count);
      if (isFalse) invert(selected);
      return selected;
    },
  };
}

type NumberValues = Numbers | Extract<ColumnValues, { kind: 'longs' }>;

function numeric(
  find: (values: NumberValues, count: number, within: SelectionVector) => TestResult,
): ValueTest {
  return {
    find(values, count, within) {
      if (values.kind === 'number-dictionary') {
        const { entries, indices } = values;
        return ofEntries(find(entries, entries.numbers.length, 'all'), indices, count, within);
      }
      if (values.kind !== 'numbers' && values.kind !== 'longs')
        return mismatch('numbers', values.kind);
      return find(values, count, within);
    },
  };
}

function mismatch(expected: string, stored: string): Unsupported {
  return { unsupported: `a column of ${expected} holds ${stored}` };
}
