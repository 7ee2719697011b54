import { methodsOf } from './tables.js';
import { missingFieldError } from './str-format.js';
import { attributeError, suggestSimilar } from '../values/expression-errors.js';
import { typeName } from '../values/type-name.js';
import { BoundMethod, PyDict, PyRange, PyType } from '../values/python-values.js';
import type { PyValue } from '../values/python-values.js';

/**
 * Evaluates `value.name` (specification of expressions, section 4.4): a method of the value's type, else a key of a dict, `start`, `stop`
 * or `step` of a range, or a method of a type. Any other name is an AttributeError.
 */
export function getAttribute(value: PyValue, name: string): PyValue {
  const method = methodsOf(value)?.get(name);
  if (method !== undefined) return new BoundMethod(value, method);
  if (value instanceof PyDict) {
    const field = value.map.get(name);
    if (field === undefined) throw missingFieldError(value, name, methodsOf(value)?.keys());
    return field;
  }
  if (value instanceof PyRange && (name === 'start' || name === 'stop' || name === 'step'))
    return value[name];
  if (value instanceof PyType) {
    const member = value.statics.get(name) ?? value.methods.get(name);
    if (member !== undefined) return member;
    throw attributeError(
      `type object '${value.name}' has no attribute '${name}'`,
      suggestSimilar(name, () => [...value.statics.keys(), ...value.methods.keys()]),
    );
  }
  throw attributeError(
    `'${typeName(value)}' object has no attribute '${name}'`,
    suggestSimilar(name, () => methodsOf(value)?.keys() ?? []),
  );
}
