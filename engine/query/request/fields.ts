import type { DatasetField } from '../../core/dataset-field.js';
import type { DataType } from '../../core/types.js';
import type { FieldRef } from '../predicate/predicate.js';

/** The fields that a request may name. Names of a request become stored columns nowhere else. */
export interface FieldIndex {
  find(name: string): DatasetField | undefined;
  readonly rows: readonly DatasetField[];
}

/**
 * Indexes the fields of a dataset by name. A field whose own name contains a dot takes precedence over a field inside an
 * object. The reserved fields `_id` and `_commit` are included unless `hasReserved` is false.
 */
export function indexFields(rows: readonly DatasetField[], hasReserved = true): FieldIndex {
  const known = hasReserved ? indexes.get(rows) : undefined;
  if (known !== undefined) return known;
  const index = newIndex(rows, hasReserved);
  if (hasReserved) indexes.set(rows, index);
  return index;
}

/** Cached, because the catalogue returns the same list until a field changes. */
const indexes = new WeakMap<readonly DatasetField[], FieldIndex>();

function newIndex(rows: readonly DatasetField[], hasReserved: boolean): FieldIndex {
  const byName = new Map<string, DatasetField>(
    hasReserved ? reserved.map((row) => [row.name, row]) : [],
  );
  for (const row of rows)
    if (row.path.length > 1 && !byName.has(row.name)) byName.set(row.name, row);
  for (const row of rows) if (row.path.length === 1) byName.set(row.name, row);
  return { find: (name) => byName.get(name), rows };
}

/** The field as a predicate refers to it. */
export function fieldRef(row: DatasetField): FieldRef {
  return Object.freeze({ name: row.name, path: row.path, type: row.dataType });
}

/** True for `_id` and `_commit`, which are ASCII and compare exactly. */
export function isReserved(path: readonly string[]): boolean {
  return path.length === 1 && (path[0] === '_id' || path[0] === '_commit');
}

/** A field that is not in the catalogue: of a file, of a dry run, of a search, or a reserved one. */
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

const reserved: readonly DatasetField[] = ['_id', '_commit'].map((name) =>
  uncataloguedField([name], 'string'),
);
