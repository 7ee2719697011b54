import {
  ExpressionError,
  indexError,
  suggestSimilar,
  typeError,
  valueError,
} from '../values/expression-errors.js';
import { hasNoSurrogates, codePointsOf } from '../values/code-points.js';
import { mapKey } from '../values/hashing.js';
import { asInt, toClippedSize } from '../values/integers.js';
import { reprOf } from '../values/repr.js';
import { typeName } from '../values/type-name.js';
import { PyDict, PyList, PyRange, PySlice, PyTuple } from '../values/python-values.js';
import type { PyValue, Runtime } from '../values/python-values.js';

/** Evaluates `container[key]`. */
export function subscript(runtime: Runtime, container: PyValue, key: PyValue): PyValue {
  if (container instanceof PyDict) {
    const value = container.map.get(mapKey(key));
    if (value === undefined) throw keyError(runtime, key, () => container.map.keys());
    return value;
  }
  if (container instanceof PyList)
    return key instanceof PySlice
      ? new PyList(sliceItems(runtime, container.items, key))
      : itemAt('list', container.items, key);
  if (typeof container === 'string') return characterAt(runtime, container, key);
  if (container instanceof PyTuple)
    return key instanceof PySlice
      ? new PyTuple(sliceItems(runtime, container.items, key))
      : itemAt('tuple', container.items, key);
  if (container instanceof PyRange) return rangeItem(container, key);
  throw typeError(`'${typeName(container)}' object is not subscriptable`);
}

/** Returns the KeyError for a missing key, whose text is the key's `repr()`; `keys` are the existing keys. */
export function keyError(
  runtime: Runtime,
  key: PyValue,
  keys: () => Iterable<unknown>,
): ExpressionError {
  const suggest = typeof key === 'string' ? suggestSimilar(key, keys) : undefined;
  return new ExpressionError('KeyError', reprOf(runtime, key), suggest);
}

function itemAt(kind: 'list' | 'tuple', items: readonly PyValue[], key: PyValue): PyValue {
  const index = typeof key === 'number' ? key : requireIndex(kind, key);
  const value = items[index < 0 ? index + items.length : index];
  if (value === undefined) throw indexError(`${kind} index out of range`);
  return value;
}

function requireIndex(kind: string, key: PyValue): number {
  const int = asInt(key);
  if (int === undefined)
    throw typeError(
      kind === 'string'
        ? `string indices must be integers, not '${typeName(key)}'`
        : `${kind} indices must be integers or slices, not ${typeName(key)}`,
    );
  if (typeof int === 'number') return int;
  if (BigInt.asIntN(64, int) !== int)
    throw indexError("cannot fit 'int' into an index-sized integer");
  return int < 0n ? Number.MIN_SAFE_INTEGER : Number.MAX_SAFE_INTEGER;
}

function characterAt(runtime: Runtime, text: string, key: PyValue): PyValue {
  if (key instanceof PySlice) return sliceOfText(runtime, text, key);
  const index = requireIndex('string', key);
  if (hasNoSurrogates(text)) {
    const character = text[index < 0 ? index + text.length : index];
    if (character === undefined) throw indexError('string index out of range');
    return character;
  }
  const points = codePointsOf(text);
  runtime.budget.charge(points.length >>> 6);
  const character = points[index < 0 ? index + points.length : index];
  if (character === undefined) throw indexError('string index out of range');
  return character;
}

function sliceOfText(runtime: Runtime, text: string, slice: PySlice): string {
  const isOfUnits = hasNoSurrogates(text);
  const characters = isOfUnits ? text : codePointsOf(text);
  const { start, stop, step, length } = sliceBounds(slice, characters.length);
  runtime.budget.chargeText(length);
  if (step === 1) {
    const end = Math.max(start, stop);
    return isOfUnits ? text.slice(start, end) : codePointsOf(text).slice(start, end).join('');
  }
  runtime.budget.charge(length >>> 3);
  let result = '';
  for (let i = 0, at = start; i < length; i++, at += step) result += characters[at]!;
  return result;
}

function sliceItems(runtime: Runtime, items: readonly PyValue[], slice: PySlice): PyValue[] {
  const { start, stop, step, length } = sliceBounds(slice, items.length);
  runtime.budget.chargeElements(length);
  if (step === 1) return items.slice(start, Math.max(start, stop));
  const result: PyValue[] = [];
  for (let i = 0, at = start; i < length; i++, at += step) result.push(items[at]!);
  return result;
}

function rangeItem(range: PyRange, key: PyValue): PyValue {
  if (key instanceof PySlice) {
    const { start, stop, step } = sliceBounds(key, range.length);
    return new PyRange(
      range.start + start * range.step,
      range.start + stop * range.step,
      range.step * step,
    );
  }
  const index = requireIndex('range', key);
  const at = index < 0 ? index + range.length : index;
  if (at < 0 || at >= range.length) throw indexError('range object index out of range');
  return range.start + at * range.step;
}

/** The bounds of a slice in a sequence of `size` items, and the number of items in the slice. */
interface SliceBounds {
  readonly start: number;
  readonly stop: number;
  readonly step: number;
  readonly length: number;
}

/** Returns the bounds of a slice, like Python's `slice.indices`. */
function sliceBounds(slice: PySlice, size: number): SliceBounds {
  const step = slice.step === null ? 1 : sliceBoundOf(slice.step);
  if (step === 0) throw valueError('slice step cannot be zero');
  const lowestIndex = step > 0 ? 0 : -1;
  const highest = step > 0 ? size : size - 1;
  const clip = (value: PyValue, missing: number) => {
    if (value === null) return missing;
    const at = sliceBoundOf(value);
    return Math.min(Math.max(at < 0 ? at + size : at, lowestIndex), highest);
  };
  const start = clip(slice.start, step > 0 ? lowestIndex : highest);
  const stop = clip(slice.stop, step > 0 ? highest : lowestIndex);
  const length = Math.max(0, Math.ceil((stop - start) / step));
  return { start, stop, step, length };
}

function sliceBoundOf(value: PyValue): number {
  if (typeof value === 'number') return value;
  if (asInt(value) === undefined)
    throw typeError('slice indices must be integers or None or have an __index__ method');
  return toClippedSize(value);
}
