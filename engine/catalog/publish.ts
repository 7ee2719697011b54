import { commitField, fieldsOfColumns, type NewField } from '../core/dataset-field.js';
import { notFoundError } from '../core/errors.js';
import type { Columns, GenomeBuild, JsonObject } from '../core/types.js';
import { archiveTable } from './archives.js';
import { commits, commitTable, type CommitRow, type CommitVersion } from './commits.js';
import { datasetMigrationTable } from './dataset-migrations.js';
import type { Database } from './database.js';
import { datasets, datasetTable, type DatasetRow } from './datasets.js';
import { fieldTable, type FieldRow } from './fields.js';
import { recordCreatedId } from './idempotency-keys.js';
import { imports, importTable } from './imports.js';
import { newJob } from './jobs.js';
import { sql } from './sql.js';
import type { Millis } from './table-codec.js';
import type { TaskRow } from './task-row.js';
import { insertTask, setStatus } from './task-status.js';
import { taskTable } from './tasks.js';
import { userTable, type UserRow } from './users.js';

/** The part of a publication that the `info` of its log entry contains. */
export interface LoggedPublication {
  readonly datasetId: number;
  /** The import that made the commit; 0 if no import did. */
  readonly importId: number;
  /** The migration that made the commit, and the number of records that its query found. */
  readonly migration?: { readonly id: number; readonly documents: number };
  readonly taskId: number;
  readonly commitId: number;
  readonly logVersion: number;
  readonly mode: CommitRow['mode'];
  /** The user who requested the change; absent in log entries of earlier releases. */
  readonly userId?: number;
  /** For a rollback: the commit that it reverts, and the idempotency key of the request; `taskId` is 0 then. */
  readonly reverted?: {
    readonly commitId: number;
    readonly idempotencyKey?: string | undefined;
  };
  readonly title: string;
  readonly recordsModified: number;
  /** Numbers of added, changed and removed records; absent for an append, which only adds records. */
  readonly changes?: {
    readonly added: number;
    readonly changed: number;
    readonly removed: number;
  };
  readonly recordsTotal: number;
  readonly bytesTotal: number;
  readonly size: number;
  readonly genomeBuild: GenomeBuild | null;
  /** All genome builds of the records, if they may have several; absent in log entries of earlier releases. */
  readonly genomeBuilds?: readonly GenomeBuild[];
  /** Properties of the fields that this commit adds. */
  readonly newFields: readonly NewField[];
  /** Fields that the request creates, whether the commit has data for them or not. */
  readonly createdFields?: readonly NewField[];
  /** Changes that the request makes to existing fields, by dotted name. */
  readonly edits?: readonly (Partial<NewField> & { readonly name: string })[];
  /** The final metadata of the import or migration (progress, validation). */
  readonly metadata: JsonObject;
  readonly time: Millis;
}

/** Everything that publishing a commit changes in the catalogue. A restart can replay it: the log has the columns anyway. */
export interface Publication extends LoggedPublication {
  /** All columns of the dataset after this commit. */
  readonly columns: Columns;
  /** The columns of each segment that this commit adds. */
  readonly segmentColumns: readonly Columns[];
}

const commitPriority = 30; // the priority that the original service shows (contract 15.1)

/**
 * Makes a commit visible in the catalogue, in one transaction, after its log entry was written. It is idempotent, so a restart can
 * replay the log. The log is authoritative: an import that was canceled after its entry was written is completed.
 */
export async function publishVersion(db: Database, publication: Publication): Promise<void> {
  // The columns are read before the transaction: a commit may add hundreds of segments with thousands of columns each.
  const columnFields = fieldsOfColumns(publication.columns);
  const unwritten = namesNotStored(columnFields, publication.segmentColumns);
  await db.atomic(async (tx) => {
    const dataset = await datasetTable(tx).get(publication.datasetId);
    if (dataset === undefined) throw notFoundError();
    if (dataset.logVersion >= publication.logVersion) return;
    if ((await commitTable(tx).get(publication.commitId)) !== undefined) return;

    const addedFieldNames = await publishFields(tx, publication, columnFields);
    await createFields(tx, publication);
    await editFields(tx, publication);
    const commitFields = columnFields.flatMap(({ name }) => {
      const isNew = addedFieldNames.has(name);
      return isNew || !unwritten.has(name) ? { name, is_new: isNew } : [];
    });
    const commitTask = await publishCommit(tx, publication, commitFields);
    const builds = new Set([...dataset.genomeBuilds, ...(publication.genomeBuilds ?? [])]);
    if (publication.genomeBuild !== null) builds.add(publication.genomeBuild);
    const change = datasets.update(publication.datasetId, {
      documentsCount: publication.recordsTotal,
      bytes: publication.bytesTotal,
      genomeBuilds: [...builds].sort(),
      logVersion: publication.logVersion,
      updatedAt: publication.time,
    });
    await tx.run(change!);
    await tx.run(sql`UPDATE objects SET documents_count = ${publication.recordsTotal},
      updated_at = ${publication.time} WHERE id = ${publication.datasetId}`);
    await completeJob(tx, publication);
    if (publication.recordsTotal > 0) await archiveIfDue(tx, dataset, commitTask);
  });
}

/**
 * Queues the snapshot task of a dataset that has had the storage class Archive since it was created and now has records. If the task is
 * canceled or fails, the dataset gets the class Standard, and takes commits like any other.
 */
async function archiveIfDue(
  tx: Database,
  dataset: DatasetRow,
  { userId, accountId }: TaskRow,
): Promise<void> {
  if (dataset.storageClass !== 'Archive' || dataset.availability !== 'available') return;
  if ((await taskTable(tx).openTask('snapshot', dataset.id)) !== undefined) return;
  await archiveTable(tx, 'snapshot').create({
    dataset,
    storageClass: 'Archive',
    previousClass: 'Standard',
    userId,
    accountId,
    ignoresQueueLimit: true,
  });
}

/**
 * Creates fields for new columns and fixes the types of declared fields that now have data; returns the names of all these fields. Also
 * changes widened types, and creates `_commit`.
 */
async function publishFields(
  tx: Database,
  publication: Publication,
  columnFields: readonly NewField[],
): Promise<ReadonlySet<string>> {
  const table = fieldTable(tx);
  const { datasetId, time } = publication;
  const existingFields = await table.all(datasetId);
  const byPath = new Map(existingFields.map((field) => [JSON.stringify(field.path), field]));
  const declaredFields = new Map(
    existingFields.filter((field) => !field.isValid).map((field) => [field.name, field]),
  );
  const hints = new Map(publication.newFields.map((field) => [JSON.stringify(field.path), field]));
  const typedNames = new Set(
    (publication.createdFields ?? []).flatMap(({ name, dataType }) =>
      dataType === 'auto' ? [] : [name],
    ),
  );
  let nextOrdering = 1 + Math.max(-1, ...existingFields.map((field) => field.ordering ?? -1));
  const addedNames = new Set<string>();

  for (const column of columnFields) {
    const key = JSON.stringify(column.path);
    const field = byPath.get(key) ?? declaredFields.get(column.name);
    const hint = hints.get(key);
    if (field?.isValid === true) {
      const { dataType } = column;
      if (!field.isDeclared && field.dataType !== dataType)
        await table.update(field.id, { dataType, isDeclared: false }, time);
      continue;
    }
    addedNames.add(column.name);
    if (field !== undefined) {
      declaredFields.delete(field.name); // an object's member and a flat column may have the same dotted name
      const isDeclared = field.isDeclared || typedNames.has(column.name);
      await table.update(
        field.id,
        { ...changesByFirstData(field, column, hint), isDeclared },
        time,
      );
    } else {
      const ordering = hint?.ordering ?? nextOrdering++;
      const newField = { ...hint, ...column, ordering, isDeclared: typedNames.has(column.name) };
      await table.createInternal({ ...newField, datasetId, isValid: true }, time);
    }
  }
  if (!byPath.has(JSON.stringify(commitField.path))) {
    const reservedProperties = { isReadOnly: true, isValid: true };
    await table.createInternal({ ...commitField, ...reservedProperties, datasetId }, time);
  }
  return addedNames;
}

/** Creates the fields of the request for which the commit has no data, and completes the declarations of fields without data. */
async function createFields(tx: Database, publication: Publication): Promise<void> {
  const { createdFields = [], datasetId, time } = publication;
  if (createdFields.length === 0) return;
  const table = fieldTable(tx);
  const fields = new Map((await table.all(datasetId)).map((field) => [field.name, field]));
  for (const created of createdFields) {
    const field = fields.get(created.name);
    if (field === undefined) await table.createInternal({ ...created, datasetId }, time);
    else if (!field.isValid) {
      const dataType = field.dataType === 'auto' ? created.dataType : field.dataType;
      const isList = field.isList ?? created.isList;
      await table.update(field.id, { dataType, isList }, time);
    }
  }
}

/** Applies the request's changes to existing fields, except those that are read-only. */
async function editFields(tx: Database, publication: Publication): Promise<void> {
  const { edits = [], datasetId, time } = publication;
  if (edits.length === 0) return;
  const table = fieldTable(tx);
  const fields = new Map((await table.all(datasetId)).map((field) => [field.name, field]));
  for (const { name, ...changes } of edits) {
    const field = fields.get(name);
    if (field !== undefined && !field.isReadOnly) await table.update(field.id, changes, time);
  }
}

/**
 * Returns the changes to a declared field that gets its first data: the properties that the user set stay, and the data determine the
 * others.
 */
function changesByFirstData(
  field: FieldRow,
  column: NewField,
  hint: NewField | undefined,
): Partial<FieldRow> {
  return {
    path: column.path,
    isValid: true,
    dataType: field.dataType === 'auto' ? column.dataType : field.dataType,
    isList: field.isList ?? column.isList,
    entityType: field.entityType ?? hint?.entityType ?? null,
    ordering: field.ordering ?? hint?.ordering ?? null,
  };
}

/**
 * Inserts the commit and its task; returns the task. `fields` are those of the commit's records, and those that it adds to the dataset
 * although no record has a value of them. A record that an upsert has changed has all its fields, because the log does not tell which of
 * them the request gave.
 */
async function publishCommit(
  tx: Database,
  publication: Publication,
  fields: CommitRow['fields'],
): Promise<TaskRow> {
  const jobTask = await taskTable(tx).get(publication.taskId);
  const importRow = await importTable(tx).get(publication.importId);
  const { reverted } = publication;
  // Log entries of earlier releases have the user of a rollback with the commit that it reverts.
  const { userId: formerUserId } = (reverted ?? {}) as { readonly userId?: number };
  const requesterId = publication.userId ?? formerUserId ?? jobTask?.userId;
  const { id: userId, accountId } =
    (requesterId !== undefined && (await userTable(tx).get(requesterId))) ||
    (await readDatasetOwner(tx, publication.datasetId));
  const title = publication.title;
  const task = await insertTask(
    tx,
    {
      kind: 'commit',
      resourceId: publication.commitId,
      description: `${verbByMode[publication.mode]} ${publication.recordsModified} records`,
      priority: commitPriority,
      userId,
      accountId,
      parentId: jobTask?.id ?? null,
      targetObjectId: publication.datasetId,
      sourceObjectId: null,
    },
    'completed',
    publication.time,
  );
  const { completedAt: time, ...version } = commitVersionOf(publication);
  const row: CommitRow = {
    ...newJob(publication.commitId, task, publication.datasetId),
    ...version,
    timestamps: [
      ['new', 'queued', time],
      ['queued', 'running', time],
      ['running', 'completed', time],
    ],
    title,
    description: importRow?.description ?? null,
    recordsModified: publication.recordsModified,
    recordsChanged: publication.changes?.changed ?? 0,
    recordsRemoved: publication.changes?.removed ?? 0,
    fields,
    size: publication.size,
    genomeBuild: publication.genomeBuild,
  };
  await tx.run(commits.insert(row));
  const key = reverted?.idempotencyKey;
  if (key !== undefined) await recordCreatedId(tx, row.id, { userId, key });
  return task;
}

/** Returns the names of the fields that no segment stores. Once each field is found in a segment, no further segments are read. */
function namesNotStored(
  fields: readonly NewField[],
  segmentColumns: readonly Columns[],
): ReadonlySet<string> {
  const names = new Set(fields.map(({ name }) => name));
  for (const columns of new Set(segmentColumns)) {
    if (names.size === 0) break;
    deleteNames(names, columns, '');
  }
  return names;
}

/** Removes the dotted names of columns and their members from `names`; `prefix` is the name of the object around them, with a dot. */
function deleteNames(names: Set<string>, columns: Columns, prefix: string): void {
  for (const { name, children } of columns) {
    names.delete(prefix + name);
    if (children !== undefined) deleteNames(names, children, `${prefix}${name}.`);
  }
}

/** Returns the version of a dataset that a publication makes. */
export function commitVersionOf(publication: LoggedPublication): CommitVersion {
  const { reverted, migration, importId, changes } = publication;
  return {
    id: publication.commitId,
    datasetId: publication.datasetId,
    parentJobModel: reverted
      ? 'datasets.DatasetCommit'
      : migration
        ? 'datasets.DatasetMigration'
        : 'datasets.DatasetImport',
    parentJobId: reverted?.commitId ?? migration?.id ?? importId,
    mode: publication.mode,
    recordsTotal: publication.recordsTotal,
    recordsAdded: changes?.added ?? publication.recordsModified,
    logVersion: publication.logVersion,
    completedAt: publication.time,
  };
}

/** What a commit of each mode does with records, in the descriptions of tasks (contract 15.1). */
export const verbByMode: Readonly<Record<Publication['mode'], string>> = {
  append: 'Add',
  overwrite: 'Overwrite',
  upsert: 'Upsert',
  delete: 'Delete',
  rollback: 'Roll back',
};

async function completeJob(tx: Database, publication: Publication): Promise<void> {
  if (publication.reverted) return;
  const { genomeBuild, migration, time } = publication;
  if (migration)
    await datasetMigrationTable(tx).setDocumentsCount(migration.id, migration.documents);
  else if (genomeBuild !== null) {
    await tx.run(imports.update(publication.importId, { genomeBuild })!);
  }
  const task = await taskTable(tx).get(publication.taskId);
  if (task === undefined || task.status === 'completed') return;
  const metadata = publication.metadata;
  await setStatus(tx, task, 'completed', { metadata, errorMessage: null, now: time });
}

/** Returns the owner of a dataset, as the user of a replayed commit whose user the catalogue, restored from a backup, does not know. */
async function readDatasetOwner(tx: Database, datasetId: number): Promise<UserRow> {
  const row = await tx.get(sql`SELECT user_id FROM objects WHERE id = ${datasetId}`);
  return (await userTable(tx).get(row!['user_id'] as number))!;
}
