import { ExpressionError } from '../values/expression-errors.js';
import { isSubset } from '../values/comparison.js';
import { addMember, setOf } from '../values/dict.js';
import { mapKey } from '../values/hashing.js';
import { itemsIn } from '../values/iteration.js';
import { exactArguments, variadicArguments } from '../values/native.js';
import type { NativeDeclaration } from '../values/native.js';
import { PySet } from '../values/python-values.js';
import type { PyValue, Runtime } from '../values/python-values.js';
import { difference, intersection, union } from '../operators/set-operators.js';
import { keyError } from '../operators/subscript.js';

/** Converts the argument of a set's method to a set; any iterable is allowed. */
function operandAsSet(runtime: Runtime, value: PyValue): PySet {
  if (value instanceof PySet) return value;
  const items = itemsIn(runtime, value);
  runtime.budget.chargeElements(items.length);
  return setOf(items);
}

function setCombination(join: (a: PySet, b: PySet) => PySet): NativeDeclaration {
  return variadicArguments((runtime, [self, ...others]) => {
    let result = union(self as PySet, new PySet(false));
    for (const other of others) {
      const set = operandAsSet(runtime, other);
      runtime.budget.chargeElements(result.map.size + set.map.size);
      result = join(result, set);
    }
    return result;
  });
}

function countMutation(runtime: Runtime): null {
  runtime.budget.mutations += 1;
  return null;
}

/** The methods that both `set` and `frozenset` have. */
const commonMethods: Readonly<Record<string, NativeDeclaration>> = {
  copy: exactArguments(0, (runtime, set: PySet) => {
    runtime.budget.chargeElements(set.map.size);
    return union(set, new PySet(false));
  }),
  difference: setCombination(difference),
  intersection: setCombination(intersection),
  union: setCombination(union),
  symmetric_difference: exactArguments(1, (runtime, set: PySet, other: PyValue) => {
    const right = operandAsSet(runtime, other);
    runtime.budget.chargeElements(set.map.size + right.map.size);
    return union(difference(set, right), difference(right, set));
  }),
  isdisjoint: exactArguments(1, (runtime, set: PySet, other: PyValue) => {
    const right = operandAsSet(runtime, other);
    for (const key of right.map.keys()) if (set.map.has(key)) return false;
    return true;
  }),
  issubset: exactArguments(1, (runtime, set: PySet, other: PyValue) =>
    isSubset(runtime, set, operandAsSet(runtime, other)),
  ),
  issuperset: exactArguments(1, (runtime, set: PySet, other: PyValue) =>
    isSubset(runtime, operandAsSet(runtime, other), set),
  ),
};

/** The methods of `frozenset`, by name: those of `set` that do not change it. */
export const frozenSetMethods = commonMethods;

/** The methods of `set`, by name; those of Python whose names end with `_update` are left out. */
export const setMethods: Readonly<Record<string, NativeDeclaration>> = {
  ...commonMethods,
  add: exactArguments(1, (runtime, set: PySet, value: PyValue) => {
    runtime.budget.chargeOneElement(set.map.size);
    addMember(set, value);
    return countMutation(runtime);
  }),
  clear: exactArguments(0, (runtime, set: PySet) => {
    set.map.clear();
    return countMutation(runtime);
  }),
  discard: exactArguments(1, (runtime, set: PySet, value: PyValue) => {
    set.map.delete(mapKey(value));
    return countMutation(runtime);
  }),
  pop: exactArguments(0, (runtime, set: PySet) => {
    for (const [key, value] of set.map) {
      set.map.delete(key);
      countMutation(runtime);
      return value;
    }
    throw new ExpressionError('KeyError', "'pop from an empty set'");
  }),
  remove: exactArguments(1, (runtime, set: PySet, value: PyValue) => {
    if (!set.map.delete(mapKey(value))) throw keyError(runtime, value, () => set.map.keys());
    return countMutation(runtime);
  }),
  update: variadicArguments((runtime, [self, ...others]) => {
    const set = self as PySet;
    for (const other of others)
      for (const item of itemsIn(runtime, other)) {
        runtime.budget.chargeOneElement(set.map.size);
        runtime.budget.charge(1);
        addMember(set, item);
      }
    return countMutation(runtime);
  }),
};
