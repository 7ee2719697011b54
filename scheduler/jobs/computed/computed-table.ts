import type { DatasetField } from '../../../engine/core/dataset-field.js';
import { looseSnapshot } from '../../../engine/store/loose.js';
import type { Snapshot } from '../../../engine/store/store.js';
import { fieldsOfTable } from '../table/file-table.js';
import { schemaName, type TableResult } from '../table/run-table.js';

/** A table of computed fields. */
export interface ComputedTable {
  readonly snapshot: Snapshot;
  /** The fields of the table's columns, without the column of source rows. */
  readonly fields: readonly DatasetField[];
  /** The name of the column whose numbers are the rows in the source (`rowOfNumber`). */
  readonly rowField: string;
}

/**
 * A table of computed fields. Its dataset id is the id of the task, which is unique, so that caches by dataset do not confuse it with the source.
 */
export function tableOf(
  { columns, segments, folder }: TableResult,
  ids: Pick<Snapshot, 'datasetId' | 'version'>,
): ComputedTable {
  return {
    snapshot: looseSnapshot({ folder, schema: schemaName, columns, segments }, ids),
    fields: fieldsOfTable(columns.slice(0, -1)),
    rowField: columns.at(-1)!.name,
  };
}
