import type { DatasetField } from '../../../engine/core/dataset-field.js';
import { unloggedSnapshot } from '../../../engine/store/unlogged-snapshot.js';
import type { Snapshot } from '../../../engine/store/store.js';
import { fieldsOfTable } from '../table/file-table.js';
import { schemaFileName, type TableResult } from '../table/run-table.js';

/** A table of stored and computed fields of the records of a dataset. */
export interface ComputedTable {
  readonly snapshot: Snapshot;
  /** The fields of the table's columns, without the column of source rows. */
  readonly fields: readonly DatasetField[];
  /** The name of the column whose numbers are the rows in the source (`sourceRowOf`). */
  readonly rowField: string;
}

/**
 * Returns a table of computed fields. Its dataset id must be the id of a task, which is unique, so that caches by dataset do not confuse it
 * with the source dataset.
 */
export function computedTableOf(
  { columns, segments, folder }: TableResult,
  ids: Pick<Snapshot, 'datasetId' | 'version'>,
): ComputedTable {
  return {
    snapshot: unloggedSnapshot({ folder, schema: schemaFileName, columns, segments }, ids),
    fields: fieldsOfTable(columns.slice(0, -1)),
    rowField: columns.at(-1)!.name,
  };
}
