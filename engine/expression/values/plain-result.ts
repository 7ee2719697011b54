import { isOrdered } from './comparison.js';
import { originalKey, setItem } from './dict.js';
import { ExpressionError, typeError } from './expression-errors.js';
import { itemsIn } from './iteration.js';
import { floatRepr } from './float-text.js';
import { typeName } from './type-name.js';
import {
  DictView,
  Float,
  PyDict,
  PyIterator,
  PyList,
  PyRange,
  PySet,
  PyTuple,
} from './python-values.js';
import type { PyValue, Runtime } from './python-values.js';

/**
 * Returns a plain copy of a result (specification of expressions, section 5.1): only None, booleans, numbers, texts, lists, and dicts with
 * texts as keys. The given value stays unchanged, except that iterators in it are drained. Throws a `TypeError` for a value that cannot be
 * stored, such as a function or a type.
 */
export function toPlainValue(runtime: Runtime, value: PyValue): PyValue {
  if (typeof value !== 'object' || value === null || value instanceof Float) return value;
  if (value instanceof PyDict) {
    const dict = new PyDict();
    runtime.budget.chargeElements(value.map.size);
    for (const [key, item] of value.map)
      setItem(dict, toPlainKey(originalKey(value, key)), toPlainValue(runtime, item));
    return dict;
  }
  const isSequence =
    value instanceof PyList ||
    value instanceof PyTuple ||
    value instanceof PySet ||
    value instanceof PyRange ||
    value instanceof DictView ||
    value instanceof PyIterator;
  if (!isSequence) throw typeError(`a result of type ${typeName(value)} cannot be stored`);
  const items = itemsIn(runtime, value);
  runtime.budget.chargeElements(items.length);
  const plainItems = items.map((item) => toPlainValue(runtime, item));
  return new PyList(value instanceof PySet ? sortedItems(runtime, plainItems) : plainItems);
}

/** Returns the members of a set in ascending order; if they cannot be ordered, in the order of insertion. */
function sortedItems(runtime: Runtime, items: readonly PyValue[]): PyValue[] {
  try {
    return items.toSorted((a, b) =>
      isOrdered(runtime, '<', a, b) ? -1 : isOrdered(runtime, '<', b, a) ? 1 : 0,
    );
  } catch (error) {
    if (error instanceof ExpressionError && error.exception === 'TypeError') return items.slice();
    throw error;
  }
}

/** Returns a key as Python's `json` module writes it. */
function toPlainKey(key: PyValue): string {
  if (typeof key === 'string') return key;
  if (key === null) return 'null';
  if (typeof key === 'boolean') return key ? 'true' : 'false';
  if (typeof key === 'number' || typeof key === 'bigint') return String(key);
  if (key instanceof Float) {
    if (Number.isFinite(key.value)) return floatRepr(key.value);
    return Number.isNaN(key.value) ? 'NaN' : key.value > 0 ? 'Infinity' : '-Infinity';
  }
  throw typeError(`keys must be str, int, float, bool or None, not ${typeName(key)}`);
}

/** Returns a copy of a value with copies of all lists, tuples and dicts in it; other parts are shared. */
export function copyValue(value: PyValue): PyValue {
  if (typeof value !== 'object' || value === null || value instanceof Float) return value;
  if (value instanceof PyList) return new PyList(value.items.map(copyValue));
  if (value instanceof PyTuple) return new PyTuple(value.items.map(copyValue));
  if (!(value instanceof PyDict)) return value;
  const copy = new PyDict();
  for (const [key, item] of value.map) copy.map.set(key, copyValue(item));
  if (value.originals) copy.originals = new Map(value.originals);
  return copy;
}
