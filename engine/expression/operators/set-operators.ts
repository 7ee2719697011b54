import { copyDict, setOf, updateDict } from '../values/dict.js';
import { asSet, isSetView } from '../values/comparison.js';
import { itemsIn } from '../values/iteration.js';
import { PyDict, PySet } from '../values/python-values.js';
import type { PyValue, Runtime } from '../values/python-values.js';

/** Evaluates `a - b` of sets; undefined for other values. */
export function setDifference(runtime: Runtime, a: PyValue, b: PyValue): PySet | undefined {
  const pair = setOperands(runtime, a, b);
  return pair && difference(pair[0], pair[1]);
}

/** Evaluates `a & b` of sets; undefined for other values. */
export function setIntersection(runtime: Runtime, a: PyValue, b: PyValue): PySet | undefined {
  const pair = setOperands(runtime, a, b);
  return pair && intersection(pair[0], pair[1]);
}

/** Evaluates `a | b` of sets or of dicts; undefined for other values. */
export function setUnion(runtime: Runtime, a: PyValue, b: PyValue): PySet | PyDict | undefined {
  if (a instanceof PyDict && b instanceof PyDict) {
    runtime.budget.chargeElements(a.map.size + b.map.size);
    const joinedDict = copyDict(a);
    updateDict(joinedDict, b);
    return joinedDict;
  }
  const pair = setOperands(runtime, a, b);
  return pair && union(pair[0], pair[1]);
}

/** Evaluates `a ^ b` of sets; undefined for other values. */
export function setSymmetricDifference(
  runtime: Runtime,
  a: PyValue,
  b: PyValue,
): PySet | undefined {
  const pair = setOperands(runtime, a, b);
  return pair && union(difference(pair[0], pair[1]), difference(pair[1], pair[0]));
}

/** Returns the members of `a` that are not in `b`, as a set of the type of `a`. */
export function difference(a: PySet, b: PySet): PySet {
  const result = new PySet(a.isFrozen);
  for (const [key, value] of a.map) if (!b.map.has(key)) result.map.set(key, value);
  return result;
}

/** Returns the members of `a` that are in `b`, as a set of the type of `a`. */
export function intersection(a: PySet, b: PySet): PySet {
  const result = new PySet(a.isFrozen);
  for (const [key, value] of a.map) if (b.map.has(key)) result.map.set(key, value);
  return result;
}

/** Returns the union of two sets, as a set of the type of `a`. */
export function union(a: PySet, b: PySet): PySet {
  const result = new PySet(a.isFrozen);
  for (const [key, value] of a.map) result.map.set(key, value);
  for (const [key, value] of b.map) if (!result.map.has(key)) result.map.set(key, value);
  return result;
}

/** Returns two operands as sets, else undefined. If one is a view of the keys or items of a dict, the other may be any iterable. */
function setOperands(
  runtime: Runtime,
  a: PyValue,
  b: PyValue,
): readonly [PySet, PySet] | undefined {
  if (isSetView(a) || isSetView(b)) {
    const [items, otherItems] = [itemsIn(runtime, a), itemsIn(runtime, b)];
    runtime.budget.chargeElements(items.length + otherItems.length);
    return [setOf(items), setOf(otherItems)];
  }
  if (typeof a !== 'object' || typeof b !== 'object') return undefined;
  const x = asSet(a);
  const y = x && asSet(b);
  if (x === undefined || y === undefined) return undefined;
  runtime.budget.chargeElements(x.map.size + y.map.size);
  return [x, y];
}
