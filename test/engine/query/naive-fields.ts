import type { Column, Columns, EntityType, StoredType, Value } from '../../../engine/core/types.js';
import type { TestRow } from './dataset.js';

/*
 * The query language once more, written as plainly as possible from its specification: a loop over records. The naive-*.ts files
 * read requests themselves, not the engine's parsed form, and share no code with engine/query.
 */

/** A generated dataset: segments in the order of their commits, each with the columns that existed at that time. */
export interface MadeDataset {
  readonly columns: Columns;
  readonly entities: Readonly<Record<string, EntityType>>;
  readonly segments: readonly { readonly columns: Columns; readonly rows: readonly TestRow[] }[];
}

/** A field by its dotted name: where it is, and its type. */
export interface NaiveField {
  readonly name: string;
  readonly path: readonly string[];
  readonly column: Column;
}

/** Every field of a dataset, including those inside objects. */
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

/** The field that a name in a request means: one whose own name holds the dots before one inside an object. Elements have no reserved ones. */
export function fieldNamed(
  columns: Columns,
  name: string,
  isElement = false,
): NaiveField | undefined {
  const knownFields = [...(isElement ? [] : reservedFields), ...naiveFields(columns)];
  const all = knownFields.filter((field) => field.name === name);
  return all.find(({ path }) => path.length === 1) ?? all[0];
}

/** The fields that a name means without doubt, for requests. */
export function namedFields(columns: Columns): NaiveField[] {
  const all = naiveFields(columns);
  return all.filter(
    (field) =>
      field.path.length === 1 || all.filter((other) => other.name === field.name).length === 1,
  );
}

/** True for a list of objects, whose elements can have conditions. */
export function hasElements({ column: { type, isList, children } }: NaiveField): boolean {
  return type === 'object' && isList && (children ?? []).length > 0;
}

/** The fields of the elements of a list, by their names there; their paths begin at the record. */
export function elementFields({ path, column }: NaiveField): NaiveField[] {
  const fieldsInside = namedFields(column.children ?? []);
  return fieldsInside.map((field) => ({ ...field, path: [...path, ...field.path] }));
}

/** Every value of a field in a record, in lists and lists of objects as well, without nulls. */
export function valuesOf(row: unknown, path: readonly string[]): Value[] {
  let reached: unknown[] = [row];
  for (const name of path) {
    reached = reached
      .map((object) => ownValue(object, name))
      .flat()
      .filter((value) => value !== null && value !== undefined);
  }
  return reached as Value[];
}

/** The value under a key; null if there is none. */
export function ownValue(record: unknown, name: string): Value {
  return (
    (Object.hasOwn(record as object, name) ? (record as Record<string, Value>)[name] : null) ?? null
  );
}

/** The types that numbers compare with. */
export function isNumeric(type: StoredType): boolean {
  return type === 'integer' || type === 'long' || type === 'double' || type === 'float';
}

/** The types whose values are words. */
export function isWritten(type: StoredType): boolean {
  return type === 'string' || type === 'text';
}
