import type { NewField } from '../../../engine/core/dataset-field.js';
import { fieldsOfColumns } from '../../../engine/core/dataset-field.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import { PhysicalNames } from '../../../engine/ingest/physical-names.js';
import type { Column, Columns } from '../../../engine/core/types.js';

/** The declaration of a field without data: type `auto` and null leave the type to the values. */
export type Declaration = Pick<NewField, 'name' | 'dataType' | 'isList'>;

/**
 * The columns whose types an import must keep: the stored ones, then those of declared fields. The name of a field inside an object is
 * dotted, but a field of a flat file may have a dot in its name; a dotted name is therefore declared both ways.
 */
export function knownColumns(stored: Columns, declarations: readonly Declaration[]): Columns {
  return declarations
    .filter(({ dataType, isList }) => dataType !== 'auto' || isList !== null)
    .reduce((columns, declaration) => {
      const { name } = declaration;
      const flat = withColumn(columns, [name], declaration, true);
      return name.includes('.') ? withColumn(flat, name.split('.'), declaration, true) : flat;
    }, stored);
}

/** The stored columns; those of fields whose type somebody declared, according to the catalogue, are marked. */
export function markedColumns(
  columns: Columns,
  fields: readonly FieldRow[],
  above: readonly string[] = [],
  declared = new Set(fields.flatMap((one) => (one.isDeclared ? pathKey(one.path) : []))),
): Columns {
  return columns.map((column) => {
    const path = [...above, column.name];
    const { children } = column;
    return {
      ...column,
      ...(declared.has(pathKey(path)) && { isDeclared: true }),
      ...(children && { children: markedColumns(children, fields, path, declared) }),
    };
  });
}

/** The catalogue's declarations of fields without data. */
export function declarationsOf(fields: readonly FieldRow[]): readonly Declaration[] {
  return fields.filter(({ isValid, expression }) => !isValid && expression === null);
}

/** Whether a field that gets its first data was declared after the job, which knew of `declared`, had begun to read. */
export function isRedeclared(
  { columns, declared }: { readonly columns: Columns; readonly declared: readonly Declaration[] },
  fields: readonly FieldRow[],
): boolean {
  const names = new Set(fieldsOfColumns(columns).map(({ name }) => name));
  return declarationsOf(fields).some(
    ({ name, dataType, isList }) =>
      names.has(name) &&
      !declared.some(
        (one) => one.name === name && one.dataType === dataType && one.isList === isList,
      ),
  );
}

function withColumn(
  columns: Columns,
  [name = '', ...rest]: readonly string[],
  declaration: Declaration,
  isTop: boolean,
): Columns {
  if (name === '') return columns;
  const knownColumn = columns.find((column) => column.name === name);
  const names = new PhysicalNames(
    columns.map((column) => column.physical),
    isTop,
  );
  const column: Column = knownColumn ?? {
    name,
    physical: names.add(name),
    type: 'object',
    isList: false,
    open: 'both',
  };
  const next =
    rest.length === 0
      ? withDeclaration(column, declaration)
      : withMember(column, rest, declaration);
  if (knownColumn === undefined) return [...columns, next];
  return next === knownColumn ? columns : columns.map((one) => (one === knownColumn ? next : one));
}

function withMember(column: Column, path: readonly string[], declaration: Declaration): Column {
  if (column.type !== 'object') return column;
  const children = column.children ?? [];
  const next = withColumn(children, path, declaration, false);
  return next === children ? column : { ...column, children: next };
}

/** The column, completed by a declaration where its type or its list property is open. */
function withDeclaration(column: Column, { dataType, isList }: Declaration): Column {
  const { name, physical, open, children } = column;
  if (open === undefined) return column;
  const type = open === 'list' || dataType === 'auto' ? column.type : dataType;
  const opensType = open !== 'list' && dataType === 'auto';
  const opensList = open !== 'type' && isList === null;
  return {
    name,
    physical,
    type,
    isList: open === 'type' ? column.isList : (isList ?? false),
    ...(type === 'object' && children && { children }),
    ...(!opensType && { isDeclared: true }),
    ...(opensType && { open: opensList ? ('both' as const) : ('type' as const) }),
    ...(!opensType && opensList && { open: 'list' as const }),
  };
}

/**
 * The fields that `columns` add to the dataset, and the declared ones that get their first data. Each has its properties from
 * `described`, where later ones take precedence.
 */
export function newFields(
  columns: Columns,
  fields: readonly FieldRow[],
  described: readonly Partial<NewField>[],
): readonly NewField[] {
  const validPaths = new Set(
    fields.filter(({ isValid }) => isValid).map((field) => pathKey(field.path)),
  );
  const properties = new Map<string, Partial<NewField>>();
  for (const field of described) {
    const key = pathKey(field.path ?? [field.name ?? '']);
    properties.set(key, { ...properties.get(key), ...field });
  }
  return fieldsOfColumns(columns).flatMap((field) =>
    validPaths.has(pathKey(field.path))
      ? []
      : [{ ...properties.get(pathKey(field.path)), ...field }],
  );
}

/** A distinct string for every path, even if names contain dots. */
function pathKey(path: readonly string[]): string {
  return JSON.stringify(path);
}
