import { isItsOwnMapKey, mapKey } from './hashing.js';
import { PyDict, PySet, PyTuple } from './python-values.js';
import type { MapKey, PyValue } from './python-values.js';

/** Sets an item. As in Python, the stored key stays if it equals the new one. */
export function setItem(dict: PyDict, key: PyValue, value: PyValue): void {
  const mappedKey = mapKey(key);
  if (!isItsOwnMapKey(key) && !dict.map.has(mappedKey)) {
    dict.originals ??= new Map();
    dict.originals.set(mappedKey, key);
  }
  dict.map.set(mappedKey, value);
}

/** Returns the value of a key; undefined if the dict does not have the key. */
export function getItem(dict: PyDict, key: PyValue): PyValue | undefined {
  return dict.map.get(mapKey(key));
}

/** Removes a key and returns its value; undefined if the dict does not have the key. */
export function deleteItem(dict: PyDict, key: PyValue): PyValue | undefined {
  const mappedKey = mapKey(key);
  const value = dict.map.get(mappedKey);
  if (value !== undefined) {
    dict.map.delete(mappedKey);
    dict.originals?.delete(mappedKey);
  }
  return value;
}

/** Returns the key that was given when the item was added, for its map key. */
export function originalKey(dict: PyDict, mapped: MapKey): PyValue {
  return dict.originals?.get(mapped) ?? (mapped as PyValue);
}

/** Returns the keys of a dict in their order. */
export function keysOf(dict: PyDict): PyValue[] {
  const mappedKeys = Array.from(dict.map.keys());
  return dict.originals === undefined || dict.originals.size === 0
    ? (mappedKeys as PyValue[])
    : mappedKeys.map((key) => originalKey(dict, key));
}

/** Returns the keys and values of a dict whose keys are all texts, in their order. */
export function textKeyedEntries(dict: PyDict): Iterable<readonly [string, PyValue]> {
  const { map, originals } = dict;
  if (originals === undefined) return map as Map<string, PyValue>;
  return Array.from(map, ([key, value]) => [originalKey(dict, key) as string, value]);
}

/** Returns the items of a dict in their order, as tuples. */
export function itemsOf(dict: PyDict): PyTuple[] {
  return Array.from(dict.map, ([key, value]) => new PyTuple([originalKey(dict, key), value]));
}

/** Returns a dict with the same items. */
export function copyDict(dict: PyDict): PyDict {
  const copy = new PyDict();
  for (const [key, value] of dict.map) copy.map.set(key, value);
  if (dict.originals) copy.originals = new Map(dict.originals);
  return copy;
}

/** Adds all items of another dict. */
export function updateDict(dict: PyDict, other: PyDict): void {
  for (const [mapped, value] of other.map) {
    if (!dict.map.has(mapped) && other.originals?.has(mapped)) {
      dict.originals ??= new Map();
      dict.originals.set(mapped, originalKey(other, mapped));
    }
    dict.map.set(mapped, value);
  }
}

/** Returns a dict with these entries, whose keys are texts. */
export function dictOf(entries: Iterable<readonly [string, PyValue]>): PyDict {
  const dict = new PyDict();
  for (const [key, value] of entries) setItem(dict, key, value);
  return dict;
}

/** Returns a set of the values; of equal values, the first is kept. */
export function setOf(values: Iterable<PyValue>, isFrozen = false): PySet {
  const set = new PySet(isFrozen);
  for (const value of values) addMember(set, value);
  return set;
}

/** Adds a member unless the set contains an equal one. */
export function addMember(set: PySet, value: PyValue): void {
  const mappedKey = mapKey(value);
  if (!set.map.has(mappedKey)) set.map.set(mappedKey, value);
}
