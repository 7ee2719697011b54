import type { NewField } from '../../../engine/core/dataset-field.js';
import { fieldsOfColumns } from '../../../engine/core/dataset-field.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import { PhysicalNames } from '../../../engine/ingest/physical-names.js';
import type { Column, Columns, DataType } from '../../../engine/core/types.js';

/** The columns whose types an import must keep: the stored ones, then those of declared fields that have a type and no data yet. */
export function knownColumns(stored: Columns, fields: readonly FieldRow[]): Columns {
  const declared = fields
    .filter((field) => !field.isValid && field.dataType !== 'auto' && field.dataType !== 'object')
    .filter((field) => field.expression === null);
  return declared.reduce<Columns>(
    (columns, field) => withField(columns, field.path, field, true),
    [...stored],
  );
}

function withField(
  columns: Columns,
  [name = '', ...rest]: readonly string[],
  field: FieldRow,
  isTop: boolean,
): Columns {
  const known = columns.find((column) => column.name === name);
  if (known !== undefined) {
    // Stored columns are unchanged, except that an object may get new members.
    if (rest.length === 0 || known.type !== 'object') return columns;
    const children = withField(known.children ?? [], rest, field, false);
    return columns.map((column) => (column === known ? { ...known, children } : column));
  }
  const names = new PhysicalNames(
    columns.map((column) => column.physical),
    isTop,
  );
  const physical = names.add(name);
  const column: Column =
    rest.length === 0
      ? {
          name,
          physical,
          type: field.dataType as Exclude<DataType, 'auto'>,
          isList: field.isList ?? false,
        }
      : {
          name,
          physical,
          type: 'object',
          isList: false,
          children: withField([], rest, field, false),
        };
  return [...columns, column];
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
  const known = new Set(
    fields.filter(({ isValid }) => isValid).map((field) => pathKey(field.path)),
  );
  const properties = new Map<string, Partial<NewField>>();
  for (const field of described) {
    const key = pathKey(field.path ?? [field.name ?? '']);
    properties.set(key, { ...properties.get(key), ...field });
  }
  return fieldsOfColumns(columns).flatMap((field) =>
    known.has(pathKey(field.path)) ? [] : [{ ...properties.get(pathKey(field.path)), ...field }],
  );
}

/** A distinct string for every path, even if names contain dots. */
function pathKey(path: readonly string[]): string {
  return JSON.stringify(path);
}
