import { compareCodePoints } from '../../core/compare-code-points.js';
import { callWithOneArgument } from '../values/call.js';
import { isOrdered } from '../values/comparison.js';
import type { PyValue, Runtime } from '../values/python-values.js';

/** Sorts an array in place like Python's `sorted`: stable, also when reversed, by `<` of the keys. */
export function sortItems(
  runtime: Runtime,
  items: PyValue[],
  key: PyValue,
  isReversed: boolean,
): PyValue[] {
  const { length } = items;
  runtime.budget.charge(length * Math.ceil(Math.log2(length + 1)));
  if (key === null) return sortBy(items, comparatorOf(runtime, items), isReversed, (item) => item);
  runtime.budget.chargeElements(length);
  const pairs = items.map((item) => ({ item, key: callWithOneArgument(runtime, key, item) }));
  const compare = comparatorOf(
    runtime,
    pairs.map((pair) => pair.key),
  );
  const sortedPairs = sortBy(pairs, compare, isReversed, (pair) => pair.key);
  for (const [i, { item }] of sortedPairs.entries()) items[i] = item;
  return items;
}

type ValueComparator = (a: PyValue, b: PyValue) => number;

function sortBy<T>(
  items: T[],
  compare: ValueComparator,
  isReversed: boolean,
  keyOf: (item: T) => PyValue,
): T[] {
  // The items are reversed before and after sorting, so that equal items keep their order.
  if (isReversed) items.reverse();
  const compareItems = (a: T, b: T): number => compare(keyOf(a), keyOf(b));
  if (items.length < minEngineSortLength) sortShortList(items, compareItems);
  else items.sort(compareItems);
  return isReversed ? items.reverse() : items;
}

/**
 * Lists with fewer items are sorted by `sortShortList`, longer ones by the JavaScript engine's sort, which is a Timsort like that of
 * CPython.
 */
const minEngineSortLength = 64;

/**
 * Sorts a short list with the comparisons that CPython's `list.sort` makes, because their order decides which two incomparable values the
 * error names. It finds the run at the beginning, reverses it if it descends, and inserts each following item by binary search.
 */
function sortShortList<T>(items: T[], compare: (a: T, b: T) => number): void {
  let run = Math.min(items.length, 2);
  if (run < 2) return;
  const descends = compare(items[1]!, items[0]!) < 0;
  const isLess = (a: number, b: number): boolean => compare(items[a]!, items[b]!) < 0;
  while (run < items.length && isLess(run, run - 1) === descends) run++;
  if (descends)
    for (let i = 0, j = run - 1; i < j; i++, j--) [items[i], items[j]] = [items[j]!, items[i]!];
  for (; run < items.length; run++) {
    const item = items[run]!;
    let [from, to] = [0, run];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (compare(item, items[middle]!) < 0) to = middle;
      else from = middle + 1;
    }
    items.copyWithin(from + 1, from, run);
    items[from] = item;
  }
}

/** Returns the order of the keys: a direct comparison if all are texts or all are small ints, else Python's `<`. */
function comparatorOf(runtime: Runtime, keys: readonly PyValue[]): ValueComparator {
  if (keys.every((key) => typeof key === 'string'))
    return (a, b) => compareCodePoints(a as string, b as string);
  if (keys.every((key) => typeof key === 'number')) return (a, b) => (a as number) - (b as number);
  // The sort only needs the result of `<`, so 0 also stands for greater.
  return (a, b) => (isOrdered(runtime, '<', a, b) ? -1 : 0);
}
