import type { DatasetField } from '../../../engine/core/dataset-field.js';
import { looseField } from '../../../engine/query/request/fields.js';
import type { Snapshot } from '../../../engine/store/store.js';
import type { Columns } from '../../../engine/core/types.js';
import { tableFormatOf } from '../../../readers/index.js';

/** An uploaded file, one revision of it. */
export interface TableFile {
  readonly objectId: number;
  readonly revision: number;
  readonly filename: string;
}

/** A file as a table: what a query takes of a dataset. */
export interface FileTable {
  readonly snapshot: Snapshot;
  /** One for each column and each member of an object, in the file's order. */
  readonly fields: readonly DatasetField[];
  readonly isAllText: boolean;
}

/** The fields of a table's columns, those inside objects with dotted names. */
export function fieldsOf(columns: Columns, above: readonly string[] = []): readonly DatasetField[] {
  return columns.flatMap((column, ordering) => {
    const path = [...above, column.name];
    // To clients JSON is of type object; what compares values needs to know it from one with members.
    const dataType = column.type === 'json' ? 'object' : column.type;
    const field = looseField(path, dataType, { title: '', isList: column.isList, ordering });
    return [field, ...fieldsOf(column.children ?? [], path)];
  });
}

/** Throws `invalid` for a file that cannot be queried, going by its name. */
export function requireTableFormat(filename: string): void {
  tableFormatOf(filename);
}
