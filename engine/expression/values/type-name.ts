import {
  BoundMethod,
  DictView,
  Float,
  Native,
  PyDict,
  PyIterator,
  PyLambda,
  PyList,
  PyRange,
  PySet,
  PySlice,
  PyTuple,
  PyType,
} from './python-values.js';
import type { PyValue } from './python-values.js';

/** Returns the name of a value's type as CPython's messages write it. */
export function typeName(value: PyValue): string {
  switch (typeof value) {
    case 'string':
      return 'str';
    case 'number':
    case 'bigint':
      return 'int';
    case 'boolean':
      return 'bool';
    default:
  }
  if (value === null) return 'NoneType';
  if (value instanceof Float) return 'float';
  if (value instanceof PyList) return 'list';
  if (value instanceof PyDict) return 'dict';
  if (value instanceof PyTuple) return 'tuple';
  if (value instanceof PySet) return value.isFrozen ? 'frozenset' : 'set';
  if (value instanceof PyRange) return 'range';
  if (value instanceof PySlice) return 'slice';
  if (value instanceof PyIterator) return value.typeName;
  if (value instanceof DictView) return `dict_${value.part}`;
  if (value instanceof PyType) return 'type';
  if (value instanceof PyLambda) return 'function';
  if (value instanceof Native)
    return value.owner ? 'method_descriptor' : 'builtin_function_or_method';
  if (value instanceof BoundMethod) return 'builtin_function_or_method';
  return 'object';
}
