import { compareCodePoints } from '../../core/compare-code-points.js';
import { typeError } from './expression-errors.js';
import { typeName } from './type-name.js';
import {
  BoundMethod,
  DictView,
  Float,
  PyDict,
  PyList,
  PyRange,
  PySet,
  PySlice,
  PyTuple,
} from './python-values.js';
import type { PyValue, Runtime } from './python-values.js';
import { keysOf, setOf, itemsOf } from './dict.js';

/** Whether two values are equal, as `==` of Python. */
export function isEqual(runtime: Runtime, a: PyValue, b: PyValue): boolean {
  if (typeof a === 'string' || typeof b === 'string') {
    if (typeof a === 'string' && typeof b === 'string' && a.length === b.length)
      runtime.budget.chargeComparison(a.length);
    return a === b;
  }
  if (a === b) return !(a instanceof Float) || !Number.isNaN(a.value);
  if (a === null || b === null) return false;
  const x = numberOf(a);
  if (x !== undefined) {
    const y = numberOf(b);
    return y !== undefined && x == y; // oxlint-disable-line eqeqeq -- a double equals a bigint of its value
  }
  return isEqualObject(runtime, a, b);
}

/** Whether two values are equal inside a collection: a NaN equals itself there if it is the same object. */
export function isSameOrEqual(runtime: Runtime, a: PyValue, b: PyValue): boolean {
  return a === b || isEqual(runtime, a, b);
}

/** Returns the double or bigint of a number or bool; undefined for other values. */
function numberOf(value: PyValue): number | bigint | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  if (value instanceof Float) return value.value;
  return typeof value === 'boolean' ? Number(value) : undefined;
}

function isEqualObject(runtime: Runtime, a: PyValue, b: PyValue): boolean {
  if (a instanceof PyList) return b instanceof PyList && areEqual(runtime, a.items, b.items);
  if (a instanceof PyTuple) return b instanceof PyTuple && areEqual(runtime, a.items, b.items);
  if (a instanceof PyDict) return b instanceof PyDict && areEqualDicts(runtime, a, b);
  const set = asSet(a);
  if (set !== undefined) {
    const otherSet = asSet(b);
    return (
      otherSet !== undefined &&
      set.map.size === otherSet.map.size &&
      isSubset(runtime, set, otherSet)
    );
  }
  if (a instanceof PyRange) {
    if (!(b instanceof PyRange) || a.length !== b.length) return false;
    return a.length === 0 || (a.start === b.start && (a.length === 1 || a.step === b.step));
  }
  if (a instanceof PySlice)
    return (
      b instanceof PySlice &&
      areEqual(runtime, [a.start, a.stop, a.step], [b.start, b.stop, b.step])
    );
  if (a instanceof BoundMethod)
    return b instanceof BoundMethod && a.self === b.self && a.native === b.native;
  return false;
}

function areEqual(runtime: Runtime, a: readonly PyValue[], b: readonly PyValue[]): boolean {
  if (a.length !== b.length) return false;
  runtime.budget.charge(a.length);
  for (let i = 0; i < a.length; i++) if (!isSameOrEqual(runtime, a[i]!, b[i]!)) return false;
  return true;
}

function areEqualDicts(runtime: Runtime, a: PyDict, b: PyDict): boolean {
  if (a.map.size !== b.map.size) return false;
  runtime.budget.charge(a.map.size);
  for (const [key, value] of a.map) {
    const otherValue = b.map.get(key);
    if (otherValue === undefined || !isSameOrEqual(runtime, value, otherValue)) return false;
  }
  return true;
}

/** Whether a value is a view of the keys or items of a dict, which has the operations of a set. */
export function isSetView(value: PyValue): value is DictView {
  return value instanceof DictView && value.part !== 'values';
}

/** Returns a set, or a view of the keys or items of a dict as a set; undefined for other values. */
export function asSet(value: PyValue): PySet | undefined {
  if (value instanceof PySet) return value;
  if (!isSetView(value)) return undefined;
  return setOf(value.part === 'keys' ? keysOf(value.dict) : itemsOf(value.dict));
}

/** Whether all members of one set are in another. */
export function isSubset(runtime: Runtime, a: PySet, b: PySet): boolean {
  if (a.map.size > b.map.size) return false;
  runtime.budget.charge(a.map.size);
  for (const key of a.map.keys()) if (!b.map.has(key)) return false;
  return true;
}

/** The operators that order values. */
type OrderOperator = '<' | '<=' | '>' | '>=';

/** Compares two values by an operator; throws the same TypeError as CPython if they have no order. */
export function isOrdered(
  runtime: Runtime,
  operator: OrderOperator,
  a: PyValue,
  b: PyValue,
): boolean {
  if (typeof a === 'string' && typeof b === 'string')
    return satisfiesOrder(operator, compareCodePoints(a, b));
  const x = numberOf(a);
  const y = numberOf(b);
  if (x !== undefined && y !== undefined) {
    if (operator === '<') return x < y;
    if (operator === '<=') return x <= y;
    return operator === '>' ? x > y : x >= y;
  }
  if (a instanceof PyList && b instanceof PyList)
    return isOrderedSequence(runtime, operator, a.items, b.items);
  if (a instanceof PyTuple && b instanceof PyTuple)
    return isOrderedSequence(runtime, operator, a.items, b.items);
  const s = asSet(a);
  const t = asSet(b);
  if (s && t) return isOrderedSet(runtime, operator, s, t);
  throw typeError(
    `'${operator}' not supported between instances of '${typeName(a)}' and '${typeName(b)}'`,
  );
}

function satisfiesOrder(operator: OrderOperator, order: number): boolean {
  if (operator === '<') return order < 0;
  if (operator === '<=') return order <= 0;
  return operator === '>' ? order > 0 : order >= 0;
}

function isOrderedSequence(
  runtime: Runtime,
  operator: OrderOperator,
  a: readonly PyValue[],
  b: readonly PyValue[],
): boolean {
  const length = Math.min(a.length, b.length);
  runtime.budget.charge(length);
  for (let i = 0; i < length; i++)
    if (!isSameOrEqual(runtime, a[i]!, b[i]!)) return isOrdered(runtime, operator, a[i]!, b[i]!);
  return satisfiesOrder(operator, a.length - b.length);
}

function isOrderedSet(runtime: Runtime, operator: OrderOperator, a: PySet, b: PySet): boolean {
  if (operator === '<=') return isSubset(runtime, a, b);
  if (operator === '>=') return isSubset(runtime, b, a);
  if (a.map.size === b.map.size) return false;
  return operator === '<' ? isSubset(runtime, a, b) : isSubset(runtime, b, a);
}
