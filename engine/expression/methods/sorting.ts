import { compareCodePoints } from '../../core/code-points.js';
import { callOne } from '../values/call.js';
import { isOrdered } from '../values/comparison.js';
import type { PyValue, Runtime } from '../values/values.js';

/** Sorts an array in place as `sorted` of Python: stable, also when reversed, by `<` of the keys. */
export function sortItems(
  runtime: Runtime,
  items: PyValue[],
  key: PyValue,
  isReversed: boolean,
): PyValue[] {
  const { length } = items;
  runtime.budget.charge(length * Math.ceil(Math.log2(length + 1)));
  if (key === null) return sortBy(items, comparisonOf(runtime, items), isReversed, (item) => item);
  runtime.budget.elements(length);
  const pairs = items.map((item) => ({ item, key: callOne(runtime, key, item) }));
  const compare = comparisonOf(
    runtime,
    pairs.map((pair) => pair.key),
  );
  const sorted = sortBy(pairs, compare, isReversed, (pair) => pair.key);
  for (const [i, { item }] of sorted.entries()) items[i] = item;
  return items;
}

type ValueOrder = (a: PyValue, b: PyValue) => number;

function sortBy<T>(
  items: T[],
  compare: ValueOrder,
  isReversed: boolean,
  keyOf: (item: T) => PyValue,
): T[] {
  // Reversed twice, equal items keep their order.
  if (isReversed) items.reverse();
  items.sort((a, b) => compare(keyOf(a), keyOf(b)));
  return isReversed ? items.reverse() : items;
}

/** The order of the keys: one comparison where all are texts or small ints, else by `<` of Python. */
function comparisonOf(runtime: Runtime, keys: readonly PyValue[]): ValueOrder {
  if (keys.every((key) => typeof key === 'string'))
    return (a, b) => compareCodePoints(a as string, b as string);
  if (keys.every((key) => typeof key === 'number')) return (a, b) => (a as number) - (b as number);
  return (a, b) => (isOrdered(runtime, '<', a, b) ? -1 : isLess(runtime, b, a));
}

function isLess(runtime: Runtime, a: PyValue, b: PyValue): 0 | 1 {
  return isOrdered(runtime, '<', a, b) ? 1 : 0;
}
