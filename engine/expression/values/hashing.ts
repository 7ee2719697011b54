import { typeError } from './expression-errors.js';
import { limitExceededError } from './expression-limits.js';
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
import type { MapKey, PyValue } from './python-values.js';

/**
 * Returns the key under which a Map holds a value: values that are equal in Python have the same key (1, 1.0 and True), other values never.
 * A string is its own key unless it begins with the mark of composed keys. Throws a TypeError for a value without a hash,
 * and a LimitError for a composed key that is too long.
 */
export function mapKey(value: PyValue): MapKey {
  if (typeof value === 'string') return value.charCodeAt(0) === 0 ? `\0s${value}` : value;
  if (typeof value === 'number' || value === null) return value;
  return composedMapKey(value);
}

/** Whether a value is its own map key, so that the original need not be stored. */
export function isItsOwnMapKey(value: PyValue): boolean {
  return (
    typeof value === 'number' ||
    value === null ||
    typeof value === 'bigint' ||
    (typeof value === 'string' && value.charCodeAt(0) !== 0)
  );
}

function composedMapKey(value: boolean | bigint | Exclude<PyValue, null>): MapKey {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'bigint') return value;
  if (value instanceof Float) {
    const number = value.value;
    // A NaN equals no value, but as a key, the same NaN object is found.
    if (Number.isNaN(number)) return value;
    return Number.isInteger(number) && !Number.isSafeInteger(number) ? BigInt(number) : number;
  }
  if (value instanceof PyTuple) return composeKey('\0t', value.items.map(composedKeyPart));
  if (value instanceof PySet && value.isFrozen)
    return composeKey('\0f', Array.from(value.map.keys(), mapKeyText).sort());
  if (value instanceof PyRange) {
    const { length, start, step } = value;
    return `\0r${length},${length > 0 ? start : ''},${length > 1 ? step : ''}`;
  }
  if (
    value instanceof PyList ||
    value instanceof PyDict ||
    value instanceof PySet ||
    value instanceof PySlice ||
    (value instanceof DictView && value.part !== 'values')
  )
    throw typeError(`unhashable type: '${typeName(value)}'`);
  if (value instanceof BoundMethod)
    return composeKey('\0m', [identityText(value.native), identityText(value.self)]);
  return value as object;
}

/** Returns a text that is different for values that are not identical. */
function identityText(value: PyValue): string {
  if (typeof value === 'boolean') return String(value);
  return mapKeyText(value);
}

/** Maximum length of the key of a tuple, frozenset or method; such a key is composed whenever the value is used as a key. */
const maxComposedLength = 100_000;

function composeKey(kind: string, parts: readonly string[]): string {
  let length = 0;
  for (const one of parts) length += one.length;
  if (length > maxComposedLength)
    throw limitExceededError(
      `a tuple, frozenset or method of more than ${maxComposedLength} characters as a key`,
    );
  return kind + parts.join('');
}

function composedKeyPart(value: PyValue): string {
  return mapKeyText(mapKey(value));
}

/** Returns a part of a composed key: kind, length and text, so that different lists of parts give different texts. */
function mapKeyText(key: MapKey): string {
  if (typeof key === 'string') return `s${key.length}:${key}`;
  if (typeof key === 'number' || typeof key === 'bigint') return `n${String(key)};`;
  if (key === null) return 'z';
  return `o${identityOf(key)};`;
}

const identityByObject = new WeakMap<object, number>();
let nextIdentity = 0;

function identityOf(object: object): number {
  let knownIdentity = identityByObject.get(object);
  if (knownIdentity === undefined) {
    knownIdentity = nextIdentity++;
    identityByObject.set(object, knownIdentity);
  }
  return knownIdentity;
}
