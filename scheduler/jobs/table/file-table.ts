import type { DatasetField } from '../../../engine/core/dataset-field.js';
import { uncataloguedField } from '../../../engine/query/request/field-index.js';
import type { Snapshot } from '../../../engine/store/store.js';
import type { Columns } from '../../../engine/core/types.js';
import { tableExtensions, tableFormatOf } from '../../../readers/index.js';

/** An uploaded file at one of its revisions. */
export interface TableFile {
  readonly objectId: number;
  readonly revision: number;
  readonly filename: string;
}

/** An uploaded file as a table, with the parts of a dataset that a query needs. */
export interface FileTable {
  readonly snapshot: Snapshot;
  /** A field for each column and each member of an object, in the order of the file. */
  readonly fields: readonly DatasetField[];
  /** Whether all values are strings, as in `TableFormat`. */
  readonly isAllText: boolean;
}

/** Returns the fields of a table's columns; members of objects have dotted names. */
export function fieldsOfTable(
  columns: Columns,
  above: readonly string[] = [],
): readonly DatasetField[] {
  return columns.flatMap((column, ordering) => {
    const path = [...above, column.name];
    // Clients see JSON as an object without members.
    const dataType = column.type === 'json' ? 'object' : column.type;
    const field = uncataloguedField(path, dataType, { title: '', isList: column.isList, ordering });
    return [field, ...fieldsOfTable(column.children ?? [], path)];
  });
}

/** The extensions of the files that can be queried, as a text for descriptions. */
export const describedTableExtensions = `${tableExtensions.slice(0, -1).join(', ')} or ${tableExtensions.at(-1)}, also with .gz or .bz2`;

/** Throws `invalid` if files with this extension cannot be queried. */
export function requireTableFormat(filename: string): void {
  tableFormatOf(filename);
}
