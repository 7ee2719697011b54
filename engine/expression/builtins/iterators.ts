import { ExpressionError, typeError, valueError } from '../values/expression-errors.js';
import { callWithOneArgument, invalidKeywordError, callValue } from '../values/call.js';
import { isOrdered } from '../values/comparison.js';
import { itemsOf, keysOf } from '../values/dict.js';
import { toIndex, toInt } from '../values/integers.js';
import { copyItems, iterate, itemsIn } from '../values/iteration.js';
import {
  exactArguments,
  namedArguments,
  argumentRange,
  variadicArguments,
} from '../values/native.js';
import type { NativeDeclaration } from '../values/native.js';
import { isTruthy } from '../values/truth.js';
import { typeName } from '../values/type-name.js';
import { DictView, PyDict, PyIterator, PyList, PyRange, PyTuple } from '../values/python-values.js';
import type { Keywords, PyValue, Runtime } from '../values/python-values.js';
import { add } from '../operators/arithmetic.js';
import { sortItems } from '../methods/sorting.js';

/** Declares `any` or `all`, which returns `stopsAt` as soon as the truth value of an item equals `stopsAt`. */
function quantifierFunction(stopsAt: boolean): NativeDeclaration {
  return exactArguments(1, (runtime, values: PyValue) => {
    const iterator = iterate(runtime, values);
    for (let item = iterator.next(); item !== undefined; item = iterator.next()) {
      runtime.budget.charge(1);
      if (isTruthy(item) === stopsAt) return stopsAt;
    }
    return !stopsAt;
  });
}

function sum(runtime: Runtime, values: PyValue, start: PyValue | undefined): PyValue {
  if (typeof start === 'string')
    throw typeError("sum() can't sum strings [use ''.join(seq) instead]");
  let total: PyValue = start ?? 0;
  const iterator = iterate(runtime, values);
  for (let item = iterator.next(); item !== undefined; item = iterator.next()) {
    runtime.budget.charge(1);
    const smallSum: number =
      typeof total === 'number' && typeof item === 'number' ? total + item : 0.5;
    total = Number.isSafeInteger(smallSum) ? smallSum : add(runtime, total, item);
  }
  return total;
}

/** Declares `max` or `min`, of an iterable or of the arguments. */
function extremeFunction(name: 'max' | 'min'): NativeDeclaration {
  const operator = name === 'max' ? '>' : '<';
  return variadicArguments((runtime, args, keywords) => {
    const key = keywords?.get('key') ?? null;
    const fallback = keywords?.get('default');
    for (const one of keywords?.keys() ?? [])
      if (one !== 'key' && one !== 'default')
        throw invalidKeywordError(one, name, ['key', 'default']);
    if (args.length === 0) throw typeError(`${name} expected at least 1 argument, got 0`);
    if (args.length > 1 && fallback !== undefined)
      throw typeError(`Cannot specify a default for ${name}() with multiple positional arguments`);
    const values = args.length > 1 ? new PyTuple(args) : args[0]!;
    const iterator = iterate(runtime, values);
    let best: PyValue | undefined;
    let bestKey: PyValue = null;
    for (let item = iterator.next(); item !== undefined; item = iterator.next()) {
      runtime.budget.charge(1);
      const itemKey = key === null ? item : callWithOneArgument(runtime, key, item);
      if (best !== undefined && !isOrdered(runtime, operator, itemKey, bestKey)) continue;
      best = item;
      bestKey = itemKey;
    }
    if (best !== undefined) return best;
    if (fallback !== undefined) return fallback;
    throw valueError(`${name}() arg is an empty sequence`);
  });
}

function enumerate(runtime: Runtime, values: PyValue, start: PyValue | undefined): PyIterator {
  let next = start === undefined ? 0 : toIndex(start);
  const iterator = iterate(runtime, values);
  return new PyIterator('enumerate', () => {
    const item = iterator.next();
    if (item === undefined) return undefined;
    const index = next;
    const isFollowedBySafe = typeof index === 'number' && index < Number.MAX_SAFE_INTEGER;
    next = isFollowedBySafe ? index + 1 : toInt(BigInt(index) + 1n);
    return new PyTuple([index, item]);
  });
}

function zip(
  runtime: Runtime,
  args: readonly PyValue[],
  keywords: Keywords | undefined,
): PyIterator {
  for (const name of keywords?.keys() ?? [])
    if (name !== 'strict') throw invalidKeywordError(name, 'zip', ['strict']);
  const isStrict = isTruthy(keywords?.get('strict') ?? false);
  const iterators = args.map((one) => iterate(runtime, one));
  return new PyIterator('zip', () => {
    if (iterators.length === 0) return undefined;
    // Each tuple is charged one step per iterator, even if an iterator ends before the tuple is complete.
    runtime.budget.charge(iterators.length);
    const items: PyValue[] = [];
    for (const [i, iterator] of iterators.entries()) {
      const item = iterator.next();
      if (item !== undefined) {
        items.push(item);
        continue;
      }
      if (!isStrict) return undefined;
      if (i > 0) throw unequalLengthsError(i, 'shorter');
      const longerIndex = iterators.findIndex((one, at) => at > 0 && one.next() !== undefined);
      if (longerIndex > 0) throw unequalLengthsError(longerIndex, 'longer');
      return undefined;
    }
    return new PyTuple(items);
  });
}

function unequalLengthsError(at: number, how: 'shorter' | 'longer'): ExpressionError {
  const otherArguments = at === 1 ? 'argument 1' : `arguments 1-${at}`;
  return valueError(`zip() argument ${at + 1} is ${how} than ${otherArguments}`);
}

function map(
  runtime: Runtime,
  args: readonly PyValue[],
  keywords: Keywords | undefined,
): PyIterator {
  if (keywords?.size) throw typeError('map() takes no keyword arguments');
  const [mapper, ...sources] = args;
  if (mapper === undefined || sources.length === 0)
    throw typeError('map() must have at least two arguments.');
  const iterators = sources.map((one) => iterate(runtime, one));
  const [only] = iterators;
  if (iterators.length === 1)
    return new PyIterator('map', () => {
      const item = only!.next();
      return item === undefined ? undefined : callWithOneArgument(runtime, mapper, item);
    });
  return new PyIterator('map', () => {
    runtime.budget.charge(iterators.length);
    const items: PyValue[] = [];
    for (const iterator of iterators) {
      const item = iterator.next();
      if (item === undefined) return undefined;
      items.push(item);
    }
    return callValue(runtime, mapper, items);
  });
}

function filter(runtime: Runtime, test: PyValue, values: PyValue): PyIterator {
  const iterator = iterate(runtime, values);
  return new PyIterator('filter', () => {
    for (let item = iterator.next(); item !== undefined; item = iterator.next()) {
      runtime.budget.charge(1);
      if (isTruthy(test === null ? item : callWithOneArgument(runtime, test, item))) return item;
    }
    return undefined;
  });
}

function next(_runtime: Runtime, iterator: PyValue, missing: PyValue | undefined): PyValue {
  if (!(iterator instanceof PyIterator))
    throw typeError(`'${typeName(iterator)}' object is not an iterator`);
  const item = iterator.next();
  if (item !== undefined) return item;
  if (missing !== undefined) return missing;
  throw new ExpressionError('StopIteration', '');
}

function reversed(runtime: Runtime, value: PyValue): PyIterator {
  if (value instanceof PyRange) {
    let countLeft = value.length;
    return new PyIterator('range_iterator', () =>
      countLeft > 0 ? value.start + value.step * --countLeft : undefined,
    );
  }
  let items: readonly PyValue[];
  let name = 'reversed';
  if (value instanceof PyDict) {
    items = keysOf(value);
    name = 'dict_reversekeyiterator';
  } else if (value instanceof DictView) {
    const { dict, part } = value;
    items =
      part === 'items'
        ? itemsOf(dict)
        : part === 'keys'
          ? keysOf(dict)
          : Array.from(dict.map.values());
    name = `dict_reverse${part.slice(0, -1)}iterator`;
  } else if (value instanceof PyList || value instanceof PyTuple || typeof value === 'string')
    items = itemsIn(runtime, value);
  else throw typeError(`'${typeName(value)}' object is not reversible`);
  if (value instanceof PyList) name = 'list_reverseiterator';
  let at = items.length;
  return new PyIterator(name, () => (at > 0 ? items[--at] : undefined));
}

/** Returns the number of items of a collection, or of characters of a text, which `textLength` counts. Throws a TypeError otherwise. */
export function lengthOf(value: PyValue, textLength: (text: string) => number): number {
  if (typeof value === 'string') return textLength(value);
  if (value instanceof PyList || value instanceof PyTuple) return value.items.length;
  if (value instanceof DictView) return value.dict.map.size;
  if (value instanceof PyRange) return value.length;
  if (typeof value === 'object' && value !== null && 'map' in value) return value.map.size;
  throw typeError(`object of type '${typeName(value)}' has no len()`);
}

/** The built-in functions of iterables. */
export const iteratorFunctions: Readonly<Record<string, NativeDeclaration>> = {
  all: quantifierFunction(false),
  any: quantifierFunction(true),
  enumerate: namedArguments(1, 2, ['iterable', 'start'], enumerate),
  filter: argumentRange(2, 2, filter),
  iter: argumentRange(1, 1, (runtime, value: PyValue) => iterate(runtime, value)),
  map: variadicArguments(map),
  max: extremeFunction('max'),
  min: extremeFunction('min'),
  next: argumentRange(1, 2, next),
  reversed: argumentRange(1, 1, reversed),
  sorted: namedArguments(
    1,
    1,
    ['', 'key', 'reverse'],
    (runtime, values: PyValue, key, isReversed) => {
      const items = copyItems(runtime, values);
      return new PyList(
        sortItems(runtime, items, key ?? null, isReversed !== undefined && isTruthy(isReversed)),
      );
    },
    'range',
  ),
  sum: namedArguments(1, 2, ['', 'start'], sum),
  zip: variadicArguments(zip),
};
