import { Float, PyDict, PyList } from '../values/python-values.js';
import type { PyValue } from '../values/python-values.js';

/** The names that lead through objects, and lists of them, to a field. */
type FieldPath = readonly string[];

/** Fields by name, each with the tree of its members. */
type FieldTree = Map<string, FieldTree>;

/**
 * Makes records match the fields of their dataset: the JSON text of a record omits members of objects that are null and does not
 * distinguish 1.0 from 1, but expressions have to see these members as None, and floats as floats.
 */
export class RecordSchema {
  readonly #objects: FieldTree = new Map();
  readonly #floats: readonly FieldPath[];

  /** `paths` are the paths of all fields, `floats` the paths of fields whose numbers are floats. */
  constructor(paths: readonly FieldPath[], floats: readonly FieldPath[]) {
    this.#floats = floats;
    for (const path of paths) if (path.length > 1) addPathToTree(this.#objects, path);
  }

  /** Changes a record read from JSON into the form that expressions see. */
  convertToExpressionForm(record: PyDict): void {
    for (const path of this.#floats) convertToFloats(record, path);
    for (const [name, members] of this.#objects)
      forEachObject(record.map.get(name), members, fillMember);
  }

  /** Removes members that are null, as in the records of a dataset. Fields that expressions have computed stay unchanged. */
  convertToStoredForm(record: PyDict, computed: ReadonlySet<string>): void {
    for (const [name, members] of this.#objects)
      if (!computed.has(name)) forEachObject(record.map.get(name), members, clearMember);
  }
}

function addPathToTree(root: FieldTree, path: FieldPath): void {
  let tree = root;
  for (const name of path) {
    const innerTree: FieldTree = tree.get(name) ?? new Map();
    tree.set(name, innerTree);
    tree = innerTree;
  }
}

function forEachObject(
  value: PyValue | undefined,
  members: FieldTree,
  change: (object: PyDict, name: string) => void,
): void {
  if (value instanceof PyList) for (const item of value.items) forEachObject(item, members, change);
  if (!(value instanceof PyDict)) return;
  for (const [name, inside] of members) {
    if (inside.size > 0) forEachObject(value.map.get(name), inside, change);
    change(value, name);
  }
}

function fillMember(object: PyDict, name: string): void {
  if (!object.map.has(name)) object.map.set(name, null);
}

function clearMember(object: PyDict, name: string): void {
  if (object.map.get(name) === null) object.map.delete(name);
}

/** Turns the numbers at a path, including those in lists of any depth, into floats; returns the value. */
export function convertToFloats(value: PyValue, path: FieldPath, depth = 0): PyValue {
  if (value instanceof PyList) {
    for (let i = 0; i < value.items.length; i++)
      value.items[i] = convertToFloats(value.items[i]!, path, depth);
  } else if (depth < path.length) {
    const name = path[depth]!;
    const member = value instanceof PyDict ? value.map.get(name) : undefined;
    if (member !== undefined)
      (value as PyDict).map.set(name, convertToFloats(member, path, depth + 1));
  } else if (typeof value === 'number' || typeof value === 'bigint')
    return new Float(Number(value));
  return value;
}

/** Removes the member at a path, also from the objects in lists. */
export function removePath(value: PyValue | undefined, [name = '', ...rest]: FieldPath): void {
  if (value instanceof PyList) for (const item of value.items) removePath(item, [name, ...rest]);
  if (!(value instanceof PyDict)) return;
  if (rest.length > 0) removePath(value.map.get(name), rest);
  else value.map.delete(name);
}
