import type { NewField } from '../../../engine/core/dataset-field.js';
import { columnPath, fieldsOfColumns } from '../../../engine/core/dataset-field.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import { PhysicalNames } from '../../../engine/ingest/physical-names.js';
import type { Column, Columns } from '../../../engine/core/types.js';

/** The type that the catalogue or a request declares for a field. With the type `auto`, or with null for `isList`, the values decide. */
export type FieldDeclaration = Pick<NewField, 'name' | 'dataType' | 'isList'>;

/**
 * Returns the columns whose types an import must keep: the stored ones, then those of declared fields. The name of a field inside an object
 * is dotted, but a field of a flat file may also have a dot in its name; a dotted name is therefore declared both ways. It is not declared
 * again if it is the name of a stored member of objects that are not in lists, because a flat file fills that member.
 */
export function knownColumns(stored: Columns, declarations: readonly FieldDeclaration[]): Columns {
  return declarations
    .filter(({ dataType, isList }) => dataType !== 'auto' || isList !== null)
    .reduce((columns, declaration) => {
      const { name } = declaration;
      const path = columnPath(name, stored) ?? [];
      if (path.length > 1 && path.slice(0, -1).every(({ isList }) => !isList)) return columns;
      const flat = addDeclaredColumn(columns, [name], declaration, true);
      return name.includes('.')
        ? addDeclaredColumn(flat, name.split('.'), declaration, true)
        : flat;
    }, stored);
}

/** Returns the stored columns, with a mark on those whose type somebody declared, according to the catalogue. */
export function markDeclaredColumns(
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
      ...(children && { children: markDeclaredColumns(children, fields, path, declared) }),
    };
  });
}

/** Returns the declarations that the catalogue has for fields without data and without an expression. */
export function declarationsOf(fields: readonly FieldRow[]): readonly FieldDeclaration[] {
  return fields.filter(({ isValid, expression }) => !isValid && expression === null);
}

/**
 * Whether a field that gets its first data was declared after the job had begun to read; `declared` are the declarations that the job knew.
 */
export function isRedeclared(
  {
    columns,
    declared,
  }: { readonly columns: Columns; readonly declared: readonly FieldDeclaration[] },
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

function addDeclaredColumn(
  columns: Columns,
  [name = '', ...rest]: readonly string[],
  declaration: FieldDeclaration,
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
  const declaredColumn =
    rest.length === 0
      ? applyDeclaration(column, declaration)
      : addDeclaredMember(column, rest, declaration);
  if (knownColumn === undefined) return [...columns, declaredColumn];
  return declaredColumn === knownColumn
    ? columns
    : columns.map((one) => (one === knownColumn ? declaredColumn : one));
}

function addDeclaredMember(
  column: Column,
  path: readonly string[],
  declaration: FieldDeclaration,
): Column {
  if (column.type !== 'object') return column;
  const children = column.children ?? [];
  const newChildren = addDeclaredColumn(children, path, declaration, false);
  return newChildren === children ? column : { ...column, children: newChildren };
}

/** Returns the column, completed by a declaration if its type, or whether it is a list, is not known yet. */
function applyDeclaration(column: Column, { dataType, isList }: FieldDeclaration): Column {
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
 * Returns the fields that `columns` add to the dataset, and the declared fields that get their first data. Each has its properties from
 * `described`, where the last description of a field takes precedence.
 */
export function newFieldsOf(
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

/** Returns a string that is different for every path, even if names contain dots. */
function pathKey(path: readonly string[]): string {
  return JSON.stringify(path);
}
