import { typeError } from './expression-errors.js';
import { keysOf, itemsOf } from './dict.js';
import { hasNoSurrogates, codePointsOf } from './code-points.js';
import { typeName } from './type-name.js';
import { DictView, PyDict, PyIterator, PyList, PyRange, PySet, PyTuple } from './python-values.js';
import type { MapKey, PyValue, Runtime } from './python-values.js';
import { ExpressionError } from './expression-errors.js';

/** Returns an iterator over a value; throws Python's TypeError, as an `ExpressionError`, for a value that cannot be iterated. */
export function iterate(runtime: Runtime, value: PyValue): PyIterator {
  if (value instanceof PyIterator) return value;
  if (value instanceof PyList) return iterateItems('list_iterator', value.items);
  if (value instanceof PyTuple) return iterateItems('tuple_iterator', value.items);
  if (value instanceof PyRange) return iterateRange(value);
  if (value instanceof PyDict) return iterateDict(new DictView(value, 'keys'), 'dict_keyiterator');
  if (value instanceof DictView)
    return iterateDict(value, `dict_${singularByPart[value.part]}iterator`);
  if (value instanceof PySet) return iterateSet(value);
  if (typeof value === 'string') return iterateItems('str_iterator', charactersOf(runtime, value));
  throw notIterableError(value);
}

const singularByPart = { keys: 'key', values: 'value', items: 'item' };

/** Returns the TypeError for a value that cannot be iterated. */
function notIterableError(value: PyValue): ExpressionError {
  return typeError(`'${typeName(value)}' object is not iterable`);
}

function iterateItems(name: string, items: readonly PyValue[]): PyIterator {
  let i = 0;
  // The list may grow or shrink during the iteration; an iterator that has ended stays at its end.
  return new PyIterator(name, () => {
    if (i < items.length) return items[i++];
    i = Infinity;
    return undefined;
  });
}

function iterateRange(range: PyRange): PyIterator {
  let i = 0;
  return new PyIterator('range_iterator', () =>
    i < range.length ? range.start + range.step * i++ : undefined,
  );
}

function iterateDict(view: DictView, name: string): PyIterator {
  const { dict, part } = view;
  const items: readonly PyValue[] =
    part === 'keys'
      ? keysOf(dict)
      : part === 'items'
        ? itemsOf(dict)
        : Array.from(dict.map.values());
  return iterateMembers(name, items, dict.map, 'dictionary');
}

function iterateSet(set: PySet): PyIterator {
  return iterateMembers('set_iterator', Array.from(set.map.values()), set.map, 'Set');
}

/**
 * Returns an iterator over the members of a dict or set. It throws if the size of the map has changed, unless it has ended: then it stays
 * at its end.
 */
function iterateMembers(
  name: string,
  members: readonly PyValue[],
  map: ReadonlyMap<MapKey, PyValue>,
  kind: 'dictionary' | 'Set',
): PyIterator {
  const size = members.length;
  let i = 0;
  return new PyIterator(name, () => {
    if (i > size) return undefined;
    if (map.size !== size) {
      i = size + 1;
      throw new ExpressionError('RuntimeError', `${kind} changed size during iteration`);
    }
    return members[i++];
  });
}

/** Returns the characters of a text as values. */
function charactersOf(runtime: Runtime, text: string): PyValue[] {
  runtime.budget.chargeElements(text.length);
  return hasNoSurrogates(text) ? text.split('') : codePointsOf(text).slice();
}

/** Returns all items of a value. The array may belong to a list or tuple and must not be changed. */
export function itemsIn(runtime: Runtime, value: PyValue): readonly PyValue[] {
  if (value instanceof PyList || value instanceof PyTuple) return value.items;
  if (typeof value === 'string') return charactersOf(runtime, value);
  if (value instanceof PyDict) return keysOf(value);
  if (value instanceof PySet) return Array.from(value.map.values());
  if (value instanceof PyRange) return rangeItems(runtime, value);
  return drainIterator(runtime, iterate(runtime, value));
}

/** Returns all items of a value in a new array. */
export function copyItems(runtime: Runtime, value: PyValue): PyValue[] {
  const items = itemsIn(runtime, value);
  if (!(value instanceof PyList || value instanceof PyTuple)) return items as PyValue[];
  runtime.budget.chargeElements(items.length);
  return items.slice();
}

function rangeItems(runtime: Runtime, range: PyRange): PyValue[] {
  runtime.budget.chargeElements(range.length);
  const items: PyValue[] = [];
  for (let i = 0; i < range.length; i++) items.push(range.start + range.step * i);
  return items;
}

function drainIterator(runtime: Runtime, iterator: PyIterator): PyValue[] {
  const items: PyValue[] = [];
  for (let item = iterator.next(); item !== undefined; item = iterator.next()) {
    runtime.budget.chargeOneElement(items.length);
    runtime.budget.charge(1);
    items.push(item);
  }
  return items;
}
