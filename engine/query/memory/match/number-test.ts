import type { ColumnValues, Numbers } from './column.js';
import { invert } from './selection-bytes.js';
import type { PredicateOfKind, Scalar } from '../../predicate/predicate.js';
import type { ValueTest } from './row-test.js';
import {
  selectLongsInRange,
  selectNumbersInRange,
  selectNumbersOrderingNaN,
} from './number-range.js';
import { selectionOfEntries } from './dictionary-test.js';
import { listedNumberSelector } from './number-list.js';
import {
  doublesOfRange,
  safeIntegersOfRange,
  roundToFieldType,
  int32sOfRange,
  isIntegerType,
  int32sWithinDoubles,
  integersOfRange,
  type NumberRange,
} from './number-bounds.js';
import { isSparse, type SelectionVector, type TestResult } from './selection-vector.js';
import type { Unsupported } from '../../unsupported.js';

/** Returns the test that selects the numbers or dates in a range. */
export function numberRangeTest(predicate: PredicateOfKind<'range'>): ValueTest {
  return isIntegerType(predicate.field.type)
    ? integerRangeTest(integersOfRange(predicate))
    : floatRangeTest(predicate);
}

function integerRangeTest(span: NumberRange<bigint>): ValueTest {
  return numericTest((values, count, within) => {
    if (values.kind === 'longs') return selectLongsInRange(values.longs, count, span, within);
    const { numbers } = values;
    if (numbers instanceof Float32Array) return unsupportedKind('whole numbers', 'floats');
    const columnRange = isInt32s(numbers) ? int32sOfRange(span) : safeIntegersOfRange(span);
    return columnRange === undefined
      ? 'none'
      : selectNumbersInRange(numbers, count, columnRange, within);
  });
}

/** Returns true for arrays of integers with at most 32 bits. */
function isInt32s(numbers: Numbers['numbers']): boolean {
  return numbers instanceof Int32Array || numbers instanceof Uint8Array;
}

function floatRangeTest(predicate: PredicateOfKind<'range'>): ValueTest {
  const span = doublesOfRange(predicate);
  return numericTest((values, count, within) => {
    if (values.kind === 'longs') return unsupportedKind('floats', 'whole numbers');
    const { numbers, hasNonFinite } = values;
    if (hasNonFinite) return selectNumbersOrderingNaN(numbers, count, predicate, within);
    // A NaN bound makes the range empty.
    const columnRange = isInt32s(numbers) ? int32sWithinDoubles(span) : span;
    return columnRange.from <= columnRange.to
      ? selectNumbersInRange(numbers, count, columnRange, within)
      : 'none';
  });
}

/** Returns the test that selects the numbers that equal one of the predicate's values. */
export function numberEqualityTest({ field, values }: PredicateOfKind<'in'>): ValueTest {
  const [onlyValue] = values;
  if (values.length === 1 && onlyValue !== undefined) {
    const end = { value: onlyValue, inclusive: true };
    return numberRangeTest({ kind: 'range', field, low: end, high: end });
  }
  if (!isIntegerType(field.type))
    return numberListTest(values.map((value) => roundToFieldType(field, value)));
  const wantedIntegers = values as readonly bigint[];
  const test = numberListTest(wantedIntegers.filter(isExactAsDouble).map(Number));
  const wantedSet = new Set(wantedIntegers);
  return numericTest((columnValues, count, within) => {
    if (columnValues.kind === 'numbers')
      return test.find(columnValues, count, within, () => undefined);
    const { longs } = columnValues;
    if (typeof within === 'object' && isSparse(within))
      return within.filter((i) => wantedSet.has(longs[i]!));
    const selected = new Uint8Array(count);
    for (let i = 0; i < count; i++) selected[i] = wantedSet.has(longs[i]!) ? 1 : 0;
    return selected;
  });
}

function isExactAsDouble(value: bigint): boolean {
  return value >= -(2n ** 53n) && value <= 2n ** 53n;
}

function numberListTest(wantedNumbers: readonly number[]): ValueTest {
  const find = listedNumberSelector(wantedNumbers);
  return numericTest((values, count, within) => {
    if (values.kind === 'longs') return unsupportedKind('floats', 'whole numbers');
    return find(values.numbers, count, within);
  });
}

/** Returns the test that selects the booleans that are among `wantedValues`. */
export function booleanEqualityTest(wantedValues: readonly Scalar[]): ValueTest {
  const [isTrue, isFalse] = [wantedValues.includes(true), wantedValues.includes(false)];
  return {
    find(values, count) {
      if (values.kind !== 'flags') return unsupportedKind('booleans', values.kind);
      if (isTrue === isFalse) return isTrue ? 'all' : 'none';
      const selected = values.flags.slice(0, count);
      if (isFalse) invert(selected);
      return selected;
    },
  };
}

type NumberValues = Numbers | Extract<ColumnValues, { kind: 'longs' }>;

function numericTest(
  find: (values: NumberValues, count: number, within: SelectionVector) => TestResult,
): ValueTest {
  return {
    find(values, count, within) {
      if (values.kind === 'number-dictionary') {
        const { entries, indices } = values;
        return selectionOfEntries(
          find(entries, entries.numbers.length, 'all'),
          indices,
          count,
          within,
        );
      }
      if (values.kind !== 'numbers' && values.kind !== 'longs')
        return unsupportedKind('numbers', values.kind);
      return find(values, count, within);
    },
  };
}

function unsupportedKind(expected: string, stored: string): Unsupported {
  return { unsupported: `a column of ${expected} holds ${stored}` };
}
