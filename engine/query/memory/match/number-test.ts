import type { ColumnValues, Numbers } from '../column.js';
import { invert } from '../mask.js';
import { NotCovered } from '../not-covered.js';
import type { Predicate, Scalar } from '../../predicate/predicate.js';
import { costs, type ValueTest } from './field-test.js';
import { longsIn, numbersIn, strangeIn } from './number-range.js';
import { listed } from './number-list.js';
import {
  doubleSpan,
  exactSpan,
  floating,
  integerSpan,
  isWhole,
  wholePart,
  wholeSpan,
  type Span,
} from './number-bounds.js';
import { isSparse, type Selection } from './selection.js';

type Range = Extract<Predicate, { kind: 'range' }>;
type Equality = Extract<Predicate, { kind: 'in' }>;

/** A range of numbers or dates. */
export function numberRange(predicate: Range): ValueTest {
  return isWhole(predicate.field.type) ? wholeRange(wholeSpan(predicate)) : floatRange(predicate);
}

function wholeRange(span: Span<bigint>): ValueTest {
  return numeric((values, count, within) => {
    if (values.kind === 'longs') return longsIn(values.longs, count, span, within);
    const { numbers } = values;
    if (numbers instanceof Float32Array) throw new NotCovered('Whole numbers in a float column');
    const part = numbers instanceof Int32Array ? integerSpan(span) : exactSpan(span);
    return part === undefined ? 'none' : numbersIn(numbers, count, part, within);
  });
}

function floatRange(predicate: Range): ValueTest {
  const span = doubleSpan(predicate);
  return numeric((values, count, within) => {
    if (values.kind === 'longs') throw new NotCovered('Floats in a column of whole numbers');
    const { numbers, hasNonFinite } = values;
    if (hasNonFinite) return strangeIn(numbers, count, predicate, within);
    // Of NaN there is no span.
    const part = numbers instanceof Int32Array ? wholePart(span) : span;
    return part.from <= part.to ? numbersIn(numbers, count, part, within) : 'none';
  });
}

/** One of some numbers. */
export function numberEquality({ field, values }: Equality): ValueTest {
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
    const mask = new Uint8Array(count);
    for (let i = 0; i < count; i++) mask[i] = all.has(longs[i]!) ? 1 : 0;
    return mask;
  });
}

function isExact(value: bigint): boolean {
  return value >= -(2n ** 53n) && value <= 2n ** 53n;
}

function listedNumbers(wanted: readonly number[]): ValueTest {
  const find = listed(wanted);
  return numeric((values, count, within) => {
    if (values.kind === 'longs') throw new NotCovered('Floats in a column of whole numbers');
    return find(values.numbers, count, within);
  });
}

/** True or false, or one of them. */
export function flagEquality(wanted: readonly Scalar[]): ValueTest {
  const [isTrue, isFalse] = [wanted.includes(true), wanted.includes(false)];
  return {
    cost: costs.numbers,
    find(values, count) {
      if (values.kind !== 'flags') throw new NotCovered(`Booleans in a column of ${values.kind}`);
      if (isTrue === isFalse) return isTrue ? 'all' : 'none';
      const mask = values.flags.slice(0, count);
      if (isFalse) invert(mask);
      return mask;
    },
  };
}

type Numeric = Numbers | Extract<ColumnValues, { kind: 'longs' }>;

function numeric(
  find: (values: Numeric, count: number, within: Selection) => Selection,
): ValueTest {
  return {
    cost: costs.numbers,
    find(values, count, within) {
      if (values.kind !== 'numbers' && values.kind !== 'longs')
        throw new NotCovered(`Numbers in a column of ${values.kind}`);
      return find(values, count, within);
    },
  };
}
