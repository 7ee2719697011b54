import { typeError } from '../values/expression-errors.js';
import { isSameOrEqual } from '../values/comparison.js';
import { mapKey } from '../values/hashing.js';
import { iterate } from '../values/iteration.js';
import { typeName } from '../values/type-name.js';
import {
  DictView,
  Float,
  PyDict,
  PyIterator,
  PyList,
  PyRange,
  PySet,
  PyTuple,
} from '../values/python-values.js';
import type { PyValue, Runtime } from '../values/python-values.js';

/** Evaluates `item in container`. */
export function contains(runtime: Runtime, item: PyValue, container: PyValue): boolean {
  if (typeof container === 'string') {
    if (typeof item !== 'string')
      throw typeError(`'in <string>' requires string as left operand, not ${typeName(item)}`);
    runtime.budget.chargeSearch(container.length, item.length);
    return container.includes(item);
  }
  if (container instanceof PyDict) return container.map.has(mapKey(item));
  if (container instanceof PySet) {
    const isSet = item instanceof PySet && !item.isFrozen;
    return container.map.has(mapKey(isSet ? frozenCopy(item) : item));
  }
  if (container instanceof PyList || container instanceof PyTuple)
    return isInItems(runtime, item, container.items);
  if (container instanceof PyRange && isIntegerValue(item))
    return isInRange(Number(item), container);
  if (container instanceof DictView && container.part === 'keys')
    return container.dict.map.has(mapKey(item));
  const canIterate =
    container instanceof PyIterator ||
    container instanceof PyRange ||
    container instanceof DictView;
  if (!canIterate) throw typeError(`argument of type '${typeName(container)}' is not iterable`);
  const iterator = iterate(runtime, container);
  for (let one = iterator.next(); one !== undefined; one = iterator.next()) {
    runtime.budget.charge(1);
    if (isSameOrEqual(runtime, one, item)) return true;
  }
  return false;
}

/** Whether an array has a value that equals an item. */
function isInItems(runtime: Runtime, item: PyValue, items: readonly PyValue[]): boolean {
  runtime.budget.charge(items.length >>> 2);
  if (typeof item === 'string') return items.includes(item);
  for (const one of items) if (isSameOrEqual(runtime, one, item)) return true;
  return false;
}

function isIntegerValue(item: PyValue): boolean {
  return typeof item === 'number' || typeof item === 'boolean';
}

function isInRange(item: number, { start, step, length }: PyRange): boolean {
  const position = (item - start) / step;
  return Number.isInteger(position) && position >= 0 && position < length;
}

function frozenCopy(set: PySet): PySet {
  const copy = new PySet(true);
  for (const [key, value] of set.map) copy.map.set(key, value);
  return copy;
}

/**
 * Evaluates `a is b`.
 * Choice: equal ints or texts, floats of the same value (0.0 and -0.0 have different ones, NaN is NaN) and empty tuples are the same
 * object, because these values have no identity.
 */
export function isIdentical(a: PyValue, b: PyValue): boolean {
  if (a === b) return true;
  if (a instanceof Float && b instanceof Float) return Object.is(a.value, b.value);
  return a instanceof PyTuple && b instanceof PyTuple && a.items.length + b.items.length === 0;
}
