import { indexError, valueError } from '../values/expression-errors.js';
import { isSameOrEqual } from '../values/comparison.js';
import { asDouble, asInt, toClippedSize, toSize } from '../values/integers.js';
import { copyItems } from '../values/iteration.js';
import { exactArguments, namedArguments, argumentRange } from '../values/native.js';
import type { NativeDeclaration } from '../values/native.js';
import { reprOf } from '../values/repr.js';
import { isTruthy } from '../values/truth.js';
import { PyList, PyRange, PyTuple } from '../values/python-values.js';
import type { PyValue, Runtime } from '../values/python-values.js';
import { contains } from '../operators/membership.js';
import { sortItems } from './sorting.js';

function countEqualItems(runtime: Runtime, { items }: PyList | PyTuple, value: PyValue): number {
  runtime.budget.charge(items.length >>> 2);
  let count = 0;
  for (const item of items) if (isSameOrEqual(runtime, item, value)) count += 1;
  return count;
}

function indexOfItem(
  runtime: Runtime,
  items: readonly PyValue[],
  value: PyValue,
  start: PyValue | undefined,
  stop: PyValue | undefined,
): number {
  const bound = (at: PyValue | undefined, missing: number) => {
    if (at === undefined) return missing;
    const size = toClippedSize(at);
    return size < 0 ? Math.max(0, size + items.length) : size;
  };
  const end = Math.min(bound(stop, items.length), items.length);
  runtime.budget.charge(items.length >>> 2);
  for (let i = bound(start, 0); i < end; i++)
    if (isSameOrEqual(runtime, items[i]!, value)) return i;
  return -1;
}

function countMutation(runtime: Runtime): null {
  runtime.budget.mutations += 1;
  return null;
}

function pop(runtime: Runtime, list: PyList, index: PyValue | undefined): PyValue {
  const { items } = list;
  if (items.length === 0) throw indexError('pop from empty list');
  const givenIndex = index === undefined ? -1 : toSize(index);
  const at = givenIndex < 0 ? givenIndex + items.length : givenIndex;
  if (at < 0 || at >= items.length) throw indexError('pop index out of range');
  countMutation(runtime);
  runtime.budget.charge((items.length - at) >>> 4);
  return items.splice(at, 1)[0]!;
}

/** The methods of `list`. Methods that change the list return the same as in Python. */
export const listMethods: Readonly<Record<string, NativeDeclaration>> = {
  append: exactArguments(1, (runtime, list: PyList, value: PyValue) => {
    runtime.budget.chargeOneElement(list.items.length);
    list.items.push(value);
    return countMutation(runtime);
  }),
  clear: exactArguments(0, (runtime, list: PyList) => {
    list.items.length = 0;
    return countMutation(runtime);
  }),
  copy: exactArguments(0, (runtime, list: PyList) => new PyList(copyItems(runtime, list))),
  count: exactArguments(1, countEqualItems),
  extend: exactArguments(1, (runtime, list: PyList, values: PyValue) => {
    const items = copyItems(runtime, values);
    runtime.budget.chargeElements(list.items.length + items.length);
    for (const item of items) list.items.push(item);
    return countMutation(runtime);
  }),
  index: argumentRange(1, 3, (runtime, list: PyList, value: PyValue, start, stop) => {
    const at = indexOfItem(runtime, list.items, value, start, stop);
    if (at < 0) throw valueError(`${reprOf(runtime, value)} is not in list`);
    return at;
  }),
  insert: argumentRange(2, 2, (runtime, list: PyList, index: PyValue, value: PyValue) => {
    const at = toSize(index);
    runtime.budget.chargeOneElement(list.items.length);
    runtime.budget.charge(list.items.length >>> 4);
    list.items.splice(at, 0, value);
    return countMutation(runtime);
  }),
  pop: argumentRange(0, 1, pop),
  remove: exactArguments(1, (runtime, list: PyList, value: PyValue) => {
    const at = indexOfItem(runtime, list.items, value, undefined, undefined);
    if (at < 0) throw valueError('list.remove(x): x not in list');
    list.items.splice(at, 1);
    return countMutation(runtime);
  }),
  reverse: exactArguments(0, (runtime, list: PyList) => {
    runtime.budget.charge(list.items.length >>> 4);
    list.items.reverse();
    return countMutation(runtime);
  }),
  sort: namedArguments(0, 0, ['key', 'reverse'], (runtime, list: PyList, key, isReversed) => {
    const sortedItems = sortItems(
      runtime,
      list.items.slice(),
      key ?? null,
      isReversed !== undefined && isTruthy(isReversed),
    );
    for (const [i, item] of sortedItems.entries()) list.items[i] = item;
    return countMutation(runtime);
  }),
};

/** The declarations of the methods of `tuple`, by name. */
export const tupleMethods: Readonly<Record<string, NativeDeclaration>> = {
  count: exactArguments(1, countEqualItems),
  index: argumentRange(1, 3, (runtime, tuple: PyTuple, value: PyValue, start, stop) => {
    const at = indexOfItem(runtime, tuple.items, value, start, stop);
    if (at < 0) throw valueError('tuple.index(x): x not in tuple');
    return at;
  }),
};

/** The declarations of the methods of `range`, by name. */
export const rangeMethods: Readonly<Record<string, NativeDeclaration>> = {
  count: exactArguments(1, (runtime, self: PyRange, value: PyValue) =>
    contains(runtime, value, self) ? 1 : 0,
  ),
  index: exactArguments(1, (runtime, self: PyRange, value: PyValue) => {
    if (!contains(runtime, value, self))
      throw valueError(
        asInt(value) !== undefined
          ? `${reprOf(runtime, value)} is not in range`
          : 'sequence.index(x): x not in sequence',
      );
    // The sum is 0 for -0, which is no int.
    return (asDouble(value)! - self.start) / self.step + 0;
  }),
};
