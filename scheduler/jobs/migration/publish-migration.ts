import type { DatasetMigrationRow } from '../../../engine/catalog/dataset-migrations.js';
import type { LoggedPublication } from '../../../engine/catalog/publish.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import type { JsonObject } from '../../../engine/core/types.js';
import { unifyColumns } from '../../../engine/ingest/unify-columns.js';
import type { Snapshot } from '../../../engine/store/store.js';
import { withDatasetLock } from '../dataset-lock.js';
import {
  areOutdated,
  commitChange,
  commitDeletion,
  rebaseChange,
} from '../change/commit-change.js';
import { createDryRunReport } from '../import/dry-run-report.js';
import { countsOfChange, countsOfDeletion, type AppliedChange } from '../change/record-change.js';
import { isRedeclared, markDeclaredColumns, newFieldsOf } from '../import/known-columns.js';
import { keepRejected } from '../import/rejected-file.js';
import { fieldEditsOf } from '../import/target-fields.js';
import type { PublishContext, PublicationOutcome } from '../job.js';
import { requireAppendableSnapshot } from '../visible-data.js';
import type { MigrationResult } from './migration-types.js';
import { requireAuthorizedMigration } from './prepare-migration.js';

/**
 * Commits what a migration has written, or found to delete, to the target dataset, or stores the report of a dry run. Returns `run again`
 * if the result is outdated.
 */
export async function publishMigration(
  task: TaskRow,
  result: MigrationResult,
  context: PublishContext,
): Promise<PublicationOutcome> {
  const { catalog, store, data, attempt } = context;
  const row = await requireAuthorizedMigration(task, context);
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
    const { columns } = unifyColumns(markDeclaredColumns(snapshot.columns, fields), [
      result.columns,
    ]);
    // A commit has changed the type of a field, or a field was declared, since the migration read its parameters.
    if (areOutdated(result.segments, columns) || isRedeclared(result, fields)) return 'run again';
    const writtenRows = result.segments.reduce((sum, { rows }) => sum + rows, 0);
    const { added, changed } = applied ?? { added: writtenRows, changed: 0 };
    const size = result.segments.reduce((sum, { bytes }) => sum + bytes, 0);
    const publication: LoggedPublication = {
      ...publicationOf(task, row, result, snapshot, context),
      recordsModified: writtenRows,
      ...(applied && { changes: { added, changed, removed: 0 } }),
      recordsTotal: snapshot.rows + added,
      bytesTotal: snapshot.bytes + size,
      size,
      ...(writtenRows > 0 && {
        genomeBuild: result.genomeBuild,
        genomeBuilds: result.genomeBuilds,
      }),
      newFields: newFieldsOf(columns, fields, result.described),
      createdFields: result.createdFields,
      edits: fieldEditsOf(row.targetFields, fields),
      metadata: {
        ...metadataOfMigration(result, context),
        ...(applied && { changes: countsOfChange(applied) }),
      },
    };
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

/** Deletes the records that a migration has found, or stores what a dry run would delete. */
async function publishDeletions(
  task: TaskRow,
  row: DatasetMigrationRow,
  result: MigrationResult,
  applied: AppliedChange,
  context: PublishContext,
): Promise<PublicationOutcome> {
  const deletions = countsOfDeletion(applied);
  const metadata = { ...metadataOfMigration(result, context), deletions };
  if (row.isDryRun) return completeDryRun(task, row, result, { ...metadata, dry_run: deletions }, context); // prettier-ignore
  const publication = (snapshot: Snapshot): LoggedPublication => ({
    ...publicationOf(task, row, result, snapshot, context),
    metadata,
  });
  return commitDeletion(task, row.datasetId, applied, publication, context);
}

async function publishDryRun(
  task: TaskRow,
  row: DatasetMigrationRow,
  result: MigrationResult,
  context: PublishContext,
): Promise<PublicationOutcome> {
  const { catalog, store } = context;
  const { columns: stored } = await store.snapshot(row.datasetId);
  const fields = await catalog.fields.all(row.datasetId);
  const { columns } = unifyColumns(markDeclaredColumns(stored, fields), [result.columns]);
  const report = createDryRunReport(
    result,
    columns,
    fields,
    result.described,
    result.createdFields,
  );
  const counts = result.change && countsOfChange(result.change);
  const metadata = { ...metadataOfMigration(result, context), dry_run: { ...report, ...counts } };
  return completeDryRun(task, row, result, metadata, context);
}

/** Completes a dry run: stores its report in the migration's metadata, and the number of records that the query found. */
async function completeDryRun(
  task: TaskRow,
  row: DatasetMigrationRow,
  { records }: MigrationResult,
  metadata: JsonObject,
  { catalog, now }: PublishContext,
): Promise<PublicationOutcome> {
  await catalog.transaction(async (tx) => {
    await tx.datasetMigrations.setDocumentsCount(row.id, records);
    await tx.tasks.complete(task.id, { metadata, now: now() });
  });
  return 'published';
}

/** Returns the metadata with the final progress, because the last progress report may be outdated. */
function metadataOfMigration(
  { metadata }: MigrationResult,
  { progress }: PublishContext,
): JsonObject {
  return { ...metadata, progress: { ...progress, ...(metadata['progress'] as JsonObject) } };
}

/** Returns the publication of a migration that changes nothing; the counts and fields of a commit replace its own. */
function publicationOf(
  task: TaskRow,
  row: DatasetMigrationRow,
  result: MigrationResult,
  snapshot: Snapshot,
  context: PublishContext,
): LoggedPublication {
  return {
    datasetId: row.datasetId,
    importId: 0,
    migration: { id: row.id, documents: result.records },
    taskId: task.id,
    userId: task.userId,
    commitId: row.commitId,
    logVersion: snapshot.version + 1,
    mode: row.commitMode,
    title: 'Records Migration',
    recordsModified: 0,
    recordsTotal: snapshot.rows,
    bytesTotal: snapshot.bytes,
    size: 0,
    genomeBuild: null,
    newFields: [],
    createdFields: [],
    edits: [],
    metadata: metadataOfMigration(result, context),
    time: context.now(),
  };
}
