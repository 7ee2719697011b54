import { ExpressionError, typeError, valueError } from '../values/expression-errors.js';
import { copyDict, deleteItem, getItem, itemsOf, setItem, updateDict } from '../values/dict.js';
import { itemsIn } from '../values/iteration.js';
import { exactArguments, argumentRange, variadicArguments } from '../values/native.js';
import type { NativeDeclaration } from '../values/native.js';
import {
  DictView,
  PyDict,
  PyIterator,
  PyList,
  PyRange,
  PySet,
  PyTuple,
} from '../values/python-values.js';
import type { PyValue, Runtime } from '../values/python-values.js';
import { keyError } from '../operators/subscript.js';

/** Adds the items of a dict or of an iterable of pairs to a dict, like `dict.update` and `dict()`. */
export function addItems(runtime: Runtime, dict: PyDict, source: PyValue): void {
  if (source instanceof PyDict) {
    runtime.budget.chargeElements(dict.map.size + source.map.size);
    updateDict(dict, source);
    return;
  }
  const pairs = itemsIn(runtime, source);
  runtime.budget.chargeElements(dict.map.size + pairs.length);
  for (const [i, pair] of pairs.entries()) {
    if (!isSequence(pair))
      throw typeError(`cannot convert dictionary update sequence element #${i} to a sequence`);
    const items = itemsIn(runtime, pair);
    if (items.length !== 2)
      throw valueError(
        `dictionary update sequence element #${i} has length ${items.length}; 2 is required`,
      );
    setItem(dict, items[0]!, items[1]!);
  }
}

function isSequence(value: PyValue): boolean {
  return (
    typeof value === 'string' ||
    value instanceof PyTuple ||
    value instanceof PyList ||
    value instanceof PyDict ||
    value instanceof PySet ||
    value instanceof PyRange ||
    value instanceof PyIterator ||
    value instanceof DictView
  );
}

/** Evaluates `dict.fromkeys(keys, value)`. */
export const fromKeys: NativeDeclaration = argumentRange(1, 2, (runtime, keys: PyValue, value) => {
  const dict = new PyDict();
  const items = itemsIn(runtime, keys);
  runtime.budget.chargeElements(items.length);
  for (const key of items) setItem(dict, key, value ?? null);
  return dict;
});

function countMutation(runtime: Runtime): void {
  runtime.budget.mutations += 1;
}

/** The declarations of the methods of `dict`, by name. */
export const dictMethods: Readonly<Record<string, NativeDeclaration>> = {
  clear: exactArguments(0, (runtime, dict: PyDict) => {
    dict.map.clear();
    dict.originals = undefined;
    countMutation(runtime);
    return null;
  }),
  copy: exactArguments(0, (runtime, dict: PyDict) => {
    runtime.budget.chargeElements(dict.map.size);
    return copyDict(dict);
  }),
  fromkeys: argumentRange(1, 2, (runtime, _dict: PyDict, keys: PyValue, value) =>
    fromKeys('fromkeys').code(runtime, keys, value),
  ),
  get: argumentRange(1, 2, (_runtime, dict: PyDict, key: PyValue, missing) => {
    const value = getItem(dict, key);
    return value === undefined ? (missing ?? null) : value;
  }),
  items: exactArguments(0, (_runtime, dict: PyDict) => new DictView(dict, 'items')),
  keys: exactArguments(0, (_runtime, dict: PyDict) => new DictView(dict, 'keys')),
  values: exactArguments(0, (_runtime, dict: PyDict) => new DictView(dict, 'values')),
  pop: argumentRange(1, 2, (runtime, dict: PyDict, key: PyValue, missing) => {
    const value = deleteItem(dict, key);
    if (value === undefined && missing === undefined)
      throw keyError(runtime, key, () => dict.map.keys());
    countMutation(runtime);
    return value === undefined ? missing! : value;
  }),
  popitem: exactArguments(0, (runtime, dict: PyDict) => {
    const last = itemsOf(dict).at(-1);
    if (last === undefined)
      throw new ExpressionError('KeyError', "'popitem(): dictionary is empty'");
    runtime.budget.charge(dict.map.size);
    deleteItem(dict, last.items[0]!);
    countMutation(runtime);
    return last;
  }),
  setdefault: argumentRange(1, 2, (runtime, dict: PyDict, key: PyValue, missing) => {
    const value = getItem(dict, key);
    if (value !== undefined) return value;
    runtime.budget.chargeOneElement(dict.map.size);
    setItem(dict, key, missing ?? null);
    countMutation(runtime);
    return missing ?? null;
  }),
  update: variadicArguments((runtime, [self, ...sources], keywords) => {
    const dict = self as PyDict;
    if (sources.length > 1)
      throw typeError(`update expected at most 1 argument, got ${sources.length}`);
    for (const source of sources) addItems(runtime, dict, source);
    for (const [name, value] of keywords ?? []) setItem(dict, name, value);
    countMutation(runtime);
    return null;
  }),
};
