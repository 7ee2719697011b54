import type { Column, Columns, EntityType, StoredType, Value } from '../../../engine/core/types.js';
import type { TestRow } from './dataset.js';

/*
 * A naive model of the query language, written as simply as possible from its specification: a loop over the records. The naive-*.ts files
 * read requests themselves, not the engine's parsed form, and share no code with engine/query.
 */

/** A generated dataset: segments in the order of their commits, each with the columns that existed at its commit. */
export interface GeneratedDataset {
  readonly columns: Columns;
  readonly entities: Readonly<Record<string, EntityType>>;
  readonly segments: readonly { readonly columns: Columns; readonly rows: readonly TestRow[] }[];
}

/** A field with its dotted name: the path to its values, and its column. */
export interface NaiveField {
  readonly name: string;
  readonly path: readonly string[];
  readonly column: Column;
}

/** Returns every field of a dataset but `_id` and `_commit`, including those inside objects. */
export function naiveFields(columns: Columns, above: readonly string[] = []): NaiveField[] {
  return columns.flatMap((column) => {
    const path = [...above, column.name];
    return [{ name: path.join('.'), path, column }, ...naiveFields(column.children ?? [], path)];
  });
}

const reservedFields: readonly NaiveField[] = ['_id', '_commit'].map((name) => ({
  name,
  path: [name],
  column: { name, physical: name, type: 'string', isList: false },
}));

/**
 * Returns the field that a name in a request means: a field whose own name contains the dots precedes a member of an object. Elements of
 * lists have no reserved fields.
 */
export function resolveField(
  columns: Columns,
  name: string,
  isElement = false,
): NaiveField | undefined {
  const knownFields = [...(isElement ? [] : reservedFields), ...naiveFields(columns)];
  const sameNameFields = knownFields.filter((field) => field.name === name);
  return sameNameFields.find(({ path }) => path.length === 1) ?? sameNameFields[0];
}

/** Returns the fields whose names are unambiguous, for use in random requests. */
export function unambiguousFields(columns: Columns): NaiveField[] {
  const all = naiveFields(columns);
  return all.filter(
    (field) =>
      field.path.length === 1 || all.filter((other) => other.name === field.name).length === 1,
  );
}

/** Tells whether a field is a list of objects, on whose elements conditions are possible. */
export function hasElements({ column: { type, isList, children } }: NaiveField): boolean {
  return type === 'object' && isList && (children ?? []).length > 0;
}

/** Returns the unambiguous fields of the elements of a list, with their names in the element and their paths from the record. */
export function elementFields({ path, column }: NaiveField): NaiveField[] {
  const fieldsInside = unambiguousFields(column.children ?? []);
  return fieldsInside.map((field) => ({ ...field, path: [...path, ...field.path] }));
}

/** Returns every value of a field in a record, also in lists and lists of objects, without nulls. */
export function valuesOf(row: unknown, path: readonly string[]): Value[] {
  let values: unknown[] = [row];
  for (const name of path) {
    values = values
      .map((object) => memberOrNull(object, name))
      .flat()
      .filter((value) => value !== null && value !== undefined);
  }
  return values as Value[];
}

/** Returns the value of a key; null if the record lacks it. */
export function memberOrNull(record: unknown, name: string): Value {
  return (
    (Object.hasOwn(record as object, name) ? (record as Record<string, Value>)[name] : null) ?? null
  );
}

/** Tells whether values of a type are compared with numbers. */
export function isNumeric(type: StoredType): boolean {
  return type === 'integer' || type === 'long' || type === 'double' || type === 'float';
}

/** Returns whether a type is `string` or `text`. */
export function isTextType(type: StoredType): boolean {
  return type === 'string' || type === 'text';
}
