import type { Columns, DataType, StoredType } from '../core/types.js';
import type { NewField } from './rows.js';

/** The field of every record's commit id (contract 7.1): listed once data exist, and read-only. */
export const commitField = { name: '_commit', path: ['_commit'], dataType: 'string' } as const;

/** One field for every column, those under objects with dotted names, parents before children. */
export function fieldsOfColumns(
  columns: Columns,
  above: readonly string[] = [],
): readonly NewField[] {
  return columns.flatMap((column) => {
    const path = [...above, column.name];
    const field: NewField = {
      name: path.join('.'),
      path,
      dataType: shownType(column.type),
      isList: column.isList ? true : null,
    };
    return [field, ...fieldsOfColumns(column.children ?? [], path)];
  });
}

/** The data type that clients see for a stored one: irregular JSON is an object to them. */
export function shownType(type: StoredType): DataType {
  return type === 'json' ? 'object' : type;
}
