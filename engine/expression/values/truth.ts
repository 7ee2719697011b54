import { DictView, Float, PyDict, PyList, PyRange, PySet, PyTuple } from './python-values.js';
import type { PyValue } from './python-values.js';

/** Returns the truth value of a value, like Python's `bool()`. */
export function isTruthy(value: PyValue): boolean {
  if (typeof value === 'boolean') return value;
  if (value === null) return false;
  if (typeof value === 'string') return value !== '';
  if (typeof value === 'number') return value !== 0;
  if (typeof value === 'bigint') return true;
  if (value instanceof Float) return value.value !== 0;
  if (value instanceof PyList || value instanceof PyTuple) return value.items.length > 0;
  if (value instanceof PyDict || value instanceof PySet) return value.map.size > 0;
  if (value instanceof PyRange) return value.length > 0;
  if (value instanceof DictView) return value.dict.map.size > 0;
  return true;
}
