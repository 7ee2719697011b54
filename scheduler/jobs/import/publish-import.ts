import type { NewField } from '../../../engine/core/dataset-field.js';
import type { ImportRow } from '../../../engine/catalog/imports.js';
import type { LoggedPublication } from '../../../engine/catalog/publish.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import { unifyColumns } from '../../../engine/ingest/unify-columns.js';
import type { Snapshot } from '../../../engine/store/store.js';
import type { GenomeBuild, JsonObject } from '../../../engine/core/types.js';
import {
  areOutdated,
  commitChange,
  commitDeletion,
  rebaseChange,
} from '../change/commit-change.js';
import type { PublishContext, PublicationOutcome } from '../job.js';
import { requireAppendableSnapshot } from '../visible-data.js';
import { createDryRunReport } from './dry-run-report.js';
import type { ImportReport } from './import-report.js';
import { countsOfChange, countsOfDeletion, type AppliedChange } from '../change/record-change.js';
import type { ImportResult } from './import-types.js';
import { isRedeclared, markDeclaredColumns, newFieldsOf } from './known-columns.js';
import { withDatasetLock } from '../dataset-lock.js';
import { requireAuthorizedImport } from './prepare-import.js';
import { checkSources } from './prepare-sources.js';
import { keepRejected } from './rejected-file.js';
import { fieldsCreatedIn, fieldPropertiesIn, fieldEditsOf } from './target-fields.js';

/**
 * Commits the records of an import, or their deletion, or stores the report of a dry run. Returns `run again` if the result is outdated.
 */
export async function publishImport(
  task: TaskRow,
  result: ImportResult,
  context: PublishContext,
): Promise<PublicationOutcome> {
  const { catalog, store, data, attempt } = context;
  const row = await requireAuthorizedImport(task, context);
  await checkSources(row, task, context);
  await storeRecordCounts(result, context);
  await keepRejected(task, attempt, data);
  const { change: applied } = result;
  if (applied && row.commitMode === 'delete')
    return publishDeletions(task, row, result, applied, context);
  if (row.isDryRun) return publishDryRun(task, row, result, context);
  // Two commits at the same time would compete for the same version of the dataset.
  return withDatasetLock(row.datasetId, async () => {
    const snapshot = await requireAppendableSnapshot(catalog, store, row.datasetId);
    const update = applied ? await rebaseChange(applied, result.columns, snapshot, store) : [];
    if (update === undefined) return 'run again';
    const fields = await catalog.fields.all(row.datasetId);
    const storedColumns = markDeclaredColumns(snapshot.columns, fields);
    const { columns } = unifyColumns(storedColumns, [result.columns]);
    if (areOutdated(result.segments, columns)) return 'run again'; // a commit has changed the type of a field
    if (isRedeclared(result, fields)) return 'run again'; // a field was declared after the import began
    const describedFields = [...result.described, ...fieldPropertiesIn(row.targetFields)];
    const publication = publicationOf(task, row, result, snapshot, context, {
      newFields: newFieldsOf(columns, fields, describedFields),
      createdFields: fieldsCreatedIn(row.targetFields),
      edits: fieldEditsOf(row.targetFields, fields),
    });
    const { version: base } = snapshot;
    const change = {
      columns,
      add: result.segments,
      remove: [],
      update,
      base,
    };
    return commitChange(task, publication, change, context);
  });
}

/** Deletes the records that an import has found, or stores what a dry run would delete. */
async function publishDeletions(
  task: TaskRow,
  row: ImportRow,
  result: ImportResult,
  change: AppliedChange,
  context: PublishContext,
): Promise<PublicationOutcome> {
  const { catalog, now } = context;
  const deletions = countsOfDeletion(change);
  const metadata: JsonObject = { ...metadataOfImport(result, context), deletions };
  if (row.isDryRun) {
    const receipt = { ...(metadata['receipt'] as JsonObject), is_committed: false };
    await catalog.tasks.complete(task.id, {
      metadata: { ...metadata, receipt, dry_run: deletions },
      now: now(),
    });
    return 'published';
  }
  const unchanged = { newFields: [], createdFields: [], edits: [] };
  const publication = (snapshot: Snapshot): LoggedPublication => ({
    ...publicationOf(task, row, result, snapshot, context, unchanged),
    metadata,
  });
  return commitDeletion(task, row.datasetId, change, publication, context);
}

/** Stores the number of records of each uploaded file of an import. */
async function storeRecordCounts(
  { metadata }: ImportResult,
  { catalog }: PublishContext,
): Promise<void> {
  const { sources } = metadata['receipt'] as unknown as ImportReport;
  for (const { object_id: id, revision, records_read: records } of sources) {
    if (id !== null && revision !== null)
      await catalog.objects.setDocumentsCount(id, revision, records);
  }
}

/** Completes a dry run, whose only result is the task's metadata. */
async function publishDryRun(
  task: TaskRow,
  row: ImportRow,
  result: ImportResult,
  context: PublishContext,
): Promise<'published'> {
  const { catalog, store, now } = context;
  const { columns: stored } = await store.snapshot(row.datasetId);
  const fields = await catalog.fields.all(row.datasetId);
  const { columns } = unifyColumns(markDeclaredColumns(stored, fields), [result.columns]);
  const describedFields = [...result.described, ...fieldPropertiesIn(row.targetFields)];
  const metadata = {
    ...metadataOfImport(result, context),
    dry_run: {
      ...createDryRunReport(
        result,
        columns,
        fields,
        describedFields,
        fieldsCreatedIn(row.targetFields),
      ),
      ...(result.change && countsOfChange(result.change)),
    },
  };
  await catalog.tasks.complete(task.id, { metadata, now: now() });
  return 'published';
}

/** Returns the metadata with the final progress, because the last progress report may be outdated. */
function metadataOfImport(result: ImportResult, { progress }: PublishContext): JsonObject {
  return {
    ...result.metadata,
    progress: { ...progress, ...(result.metadata['progress'] as JsonObject) },
  };
}

function publicationOf(
  task: TaskRow,
  row: ImportRow,
  result: ImportResult,
  snapshot: Snapshot,
  context: PublishContext,
  fields: {
    readonly newFields: readonly NewField[];
    readonly createdFields: readonly NewField[];
    readonly edits: NonNullable<LoggedPublication['edits']>;
  },
): LoggedPublication {
  const size = result.segments.reduce((sum, segment) => sum + segment.bytes, 0);
  const storedRecords = result.segments.reduce((sum, segment) => sum + segment.rows, 0);
  const { added, changed } = result.change ?? { added: storedRecords, changed: 0 };
  return {
    datasetId: row.datasetId,
    importId: row.id,
    taskId: task.id,
    userId: task.userId,
    commitId: row.commitId,
    logVersion: snapshot.version + 1,
    mode: row.commitMode,
    title: row.title === '' ? 'Records Import' : row.title,
    recordsModified: storedRecords,
    ...(result.change && { changes: { added, changed, removed: 0 } }),
    recordsTotal: snapshot.rows + added,
    bytesTotal: snapshot.bytes + size,
    size,
    // A commit that writes no records adds no coordinates to the dataset.
    genomeBuild:
      storedRecords === 0 ? null : ((row.genomeBuild as GenomeBuild | null) ?? result.genomeBuild),
    ...fields,
    metadata: {
      ...metadataOfImport(result, context),
      ...(result.change && { changes: countsOfChange(result.change) }),
    },
    time: context.now(),
  };
}
