import type { DatasetField } from '../../core/dataset-field.js';
import { didYouMean, suggestionFor } from '../../core/suggestion.js';
import type { DataType } from '../../core/types.js';
import type { FieldRef } from '../predicate/predicate.js';

/** The fields that a request may name. Only this index turns names of a request into stored columns. */
export interface FieldIndex {
  find(name: string): DatasetField | undefined;
  readonly fields: readonly DatasetField[];
  /** Returns all names that `find` accepts. */
  names(): readonly string[];
}

/** Returns the message about a name that is no field; it suggests a similar field, such as `info.clnsig` for `info.CLNSIG`. */
export function unknownFieldMessage(name: string, fields: FieldIndex): string {
  const names = fields.names();
  const end = `.${name.toLowerCase()}`;
  const meant = suggestionFor(name, names) ?? names.find((one) => one.toLowerCase().endsWith(end));
  return `Unknown field: ${name}.${didYouMean(meant)}`.replace(/\.$/, '');
}

/**
 * Indexes the fields of a dataset by name. A field whose own name contains a dot takes precedence over a field inside an object. The
 * reserved fields `_id` and `_commit` are included unless `hasReserved` is false.
 */
export function indexFields(rows: readonly DatasetField[], hasReserved = true): FieldIndex {
  const cachedIndex = hasReserved ? indexesByFields.get(rows) : undefined;
  if (cachedIndex !== undefined) return cachedIndex;
  const index = createFieldIndex(rows, hasReserved);
  if (hasReserved) indexesByFields.set(rows, index);
  return index;
}

/** The indexes are cached, because the catalogue returns the same list object until a field changes. */
const indexesByFields = new WeakMap<readonly DatasetField[], FieldIndex>();

function createFieldIndex(rows: readonly DatasetField[], hasReserved: boolean): FieldIndex {
  return indexBelowDepth(hasReserved ? reservedFields : [], rows, 0);
}

/** Indexes fields by their path without its first `depth` names. */
function indexBelowDepth(
  first: readonly DatasetField[],
  rows: readonly DatasetField[],
  depth: number,
): FieldIndex {
  const byName = new Map<string, DatasetField>(first.map((row) => [row.name, row]));
  const nameOf = ({ path }: DatasetField): string => path.slice(depth).join('.');
  for (const row of rows)
    if (row.path.length > depth + 1 && !byName.has(nameOf(row))) byName.set(nameOf(row), row);
  for (const row of rows) if (row.path.length === depth + 1) byName.set(nameOf(row), row);
  return { find: (name) => byName.get(name), fields: rows, names: () => [...byName.keys()] };
}

/**
 * Returns the fields inside a list of objects by their names in the list: `GT` for the field `sample.GT` in the list `sample`. Undefined if
 * the field is not a list of objects, or has no fields inside.
 */
export function elementFields({ fields }: FieldIndex, list: DatasetField): FieldIndex | undefined {
  if (list.dataType !== 'object' || list.isList !== true) return undefined;
  const { path } = list;
  const membersInside = fields.filter(
    (row) => row.path.length > path.length && path.every((name, i) => row.path[i] === name),
  );
  return membersInside.length === 0 ? undefined : indexBelowDepth([], membersInside, path.length);
}

/** Returns the reference to a field that predicates use. */
export function fieldRef(row: DatasetField): FieldRef {
  return Object.freeze({ name: row.name, path: row.path, type: row.dataType });
}

/** Returns true for `_id` and `_commit`, which are ASCII and compared exactly. */
export function isReserved(path: readonly string[]): boolean {
  return path.length === 1 && (path[0] === '_id' || path[0] === '_commit');
}

/** Creates a field that is not in the catalogue. */
export function uncataloguedField(
  path: readonly string[],
  dataType: DataType,
  more: Partial<DatasetField> = {},
): DatasetField {
  const name = path.join('.');
  return {
    name,
    path,
    title: name,
    dataType,
    isList: null,
    entityType: null,
    ordering: null,
    ...more,
  };
}

const reservedFields: readonly DatasetField[] = ['_id', '_commit'].map((name) =>
  uncataloguedField([name], 'string'),
);
