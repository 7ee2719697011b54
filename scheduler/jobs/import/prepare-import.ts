import type { ImportRow } from '../../../engine/catalog/imports.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import { givenId } from '../../../engine/ingest/physical-names.js';
import { notFound } from '../../../engine/core/errors.js';
import { checkPermission, originOf } from '../../queue/permissions.js';
import type { PublishContext } from '../job.js';
import { appendableSnapshot } from '../visible-data.js';
import type { RecordChange } from '../change/record-change.js';
import { expressionsOf } from './expressions/field-expressions.js';
import type { ImportParams } from './import-types.js';
import { declarationsOf, knownColumns, markedColumns } from './known-columns.js';
import { sourcesOf } from './prepare-sources.js';
import { declaredBy, describedBy, fixedEntities, transientBy } from './target-fields.js';

/** Checks the permissions on the dataset and the sources, and collects the parameters of `runImport`. */
export async function prepareImport(task: TaskRow, context: PublishContext): Promise<ImportParams> {
  const { catalog, store } = context;
  const row = await importOf(task, context);
  if (row.commitMode === 'delete' && row.idFields === null)
    return deletingParams(task, row, context);
  const { columns } = await appendableSnapshot(catalog, store, row.datasetId);
  const fields = await catalog.fields.all(row.datasetId);
  const stored = markedColumns(columns, fields);
  const declaredFields = declarationsOf(fields).map(({ name, dataType, isList }) => ({
    name,
    dataType,
    isList,
  }));
  const givenColumns = namesById(row) ? [givenId] : [];
  return {
    commitId: row.commitId,
    change: changeOf(row),
    sources: await sourcesOf(row, task, context),
    stored: [...givenColumns, ...stored],
    isUrgent: row.source === 'data_records',
    dryRun: row.isDryRun ? { fields, described: describedBy(row.targetFields) } : null,
    transient: transientBy(row.targetFields),
    expressions: expressionsOf(row, await originOf(task, catalog), fields, columns),
    fixedEntities: fixedEntities(fields, row.targetFields),
    known: [
      ...givenColumns,
      ...knownColumns(stored, [...declaredFields, ...declaredBy(row.targetFields)]),
    ],
    declared: declaredFields,
  };
}

function changeOf({ commitMode, datasetId, idFields }: ImportRow): RecordChange | null {
  return commitMode === 'append' ? null : { mode: commitMode, datasetId, idFields };
}

/** Whether the records of an import name others by their `_id`. */
function namesById({ commitMode, idFields }: ImportRow): boolean {
  return commitMode !== 'append' && idFields === null;
}

/** The parameters of an import that deletes: of its records, the ids are read. */
async function deletingParams(
  task: TaskRow,
  row: ImportRow,
  context: PublishContext,
): Promise<ImportParams> {
  const sources = await sourcesOf(row, task, context);
  return {
    commitId: row.commitId,
    change: changeOf(row),
    sources: sources.map((source) => ({ ...source, entityParams: { disable: true } })),
    stored: [givenId],
    known: [givenId],
    declared: [],
    transient: [],
    expressions: null,
    fixedEntities: [],
    isUrgent: row.source === 'data_records',
    // The records to delete are found in the same way; only the commit is left out.
    dryRun: null,
  };
}

/** The import of a task, whose user may still write to the dataset. Throws `not-found` or `forbidden` otherwise. */
export async function importOf(task: TaskRow, { catalog }: PublishContext): Promise<ImportRow> {
  const row = await catalog.imports.get(task.resourceId);
  if (row === undefined) throw notFound();
  await checkPermission(catalog, task.userId, 'dataset', row.datasetId, 'write');
  return row;
}
