import type { JsonObject } from '../core/types.js';
import type { CommitMode } from './commits.js';
import type { Database } from './database.js';
import { recordCreatedId } from './idempotency-keys.js';
import { nextLargeId } from './ids.js';
import { jobColumns, listJobs, newJob, type JobFilter, type JobRow } from './jobs.js';
import type { ListedRows, Page } from './list-page.js';
import { sql } from './sql.js';
import { tableCodec } from './table-codec.js';
import { normalizeTags } from './tags.js';
import type { TaskRow } from './task-row.js';
import { insertTask } from './task-status.js';

export interface ImportRow extends JobRow {
  readonly title: string;
  readonly description: string | null;
  readonly source: 'data_records' | 'object' | 'manifest';
  readonly objectId: number | null;
  readonly manifest: JsonObject;
  readonly commitMode: CommitMode;
  /** The fields by which the import identifies the records that it changes; null for `_id`. */
  readonly idFields: readonly string[] | null;
  readonly targetFields: readonly JsonObject[];
  readonly entityParams: JsonObject | null;
  readonly readerParams: JsonObject | null;
  readonly validationParams: JsonObject | null;
  readonly annotatorParams: JsonObject | null;
  readonly includeErrors: boolean;
  readonly genomeBuild: string | null;
  readonly priority: number;
  /** The id of the commit, which is allocated with the import, because records contain it before the commit exists. */
  readonly commitId: number;
  /** True if the import only reports what it would store and leaves the dataset unchanged. */
  readonly isDryRun: boolean;
  readonly tags: readonly string[];
}

export const imports = tableCodec<ImportRow>(
  'imports',
  {
    ...jobColumns,
    title: 'plain',
    description: 'plain',
    source: 'plain',
    objectId: 'plain',
    manifest: 'json',
    commitMode: 'plain',
    idFields: 'json',
    targetFields: 'json',
    entityParams: 'json',
    readerParams: 'json',
    validationParams: 'json',
    annotatorParams: 'json',
    includeErrors: 'flag',
    genomeBuild: 'plain',
    priority: 'plain',
    commitId: 'plain',
    isDryRun: 'flag',
    tags: 'json',
  },
  {},
);

/** An import to create. `id` and `commitId` are new by default; a caller that has already named a file by the id gives it. */
export interface NewImport {
  readonly id?: number;
  readonly commitId?: number;
  readonly datasetId: number;
  readonly userId: number;
  readonly accountId: number;
  readonly source: ImportRow['source'];
  readonly title?: string;
  readonly description?: string | null;
  readonly objectId?: number | null;
  /** The ids of the files in the manifest. */
  readonly files?: readonly number[];
  readonly manifest?: JsonObject;
  readonly commitMode?: ImportRow['commitMode'];
  readonly idFields?: readonly string[] | null;
  readonly targetFields?: readonly JsonObject[];
  readonly entityParams?: JsonObject | null;
  readonly readerParams?: JsonObject | null;
  readonly validationParams?: JsonObject | null;
  readonly annotatorParams?: JsonObject | null;
  readonly includeErrors?: boolean;
  readonly genomeBuild?: string | null;
  readonly priority?: number;
  readonly isDryRun?: boolean;
  readonly metadata?: JsonObject;
  readonly tags?: readonly string[];
  /** The description of the task (contract 15.1). */
  readonly taskDescription?: string;
}

/**
 * A change to an import. `metadata` replaces all keys that users have set; keys that only the server sets are ignored and keep their
 * values.
 */
export type ImportPatch = Partial<Pick<ImportRow, 'title' | 'description' | 'metadata' | 'tags'>>;

/** The keys of the metadata of imports and migrations that the server sets. */
export const serverMetadata = ['progress', 'validation', 'receipt', 'dry_run', 'changes', 'deletions', 'source', 'sources']; // prettier-ignore

const defaultPriority = 10; // the priority that the original service shows (contract 15.1)

/** Imports. The status of an import follows that of its task. */
interface ImportTable {
  get(id: number): Promise<ImportRow | undefined>;
  /** Lists the imports, newest first. */
  list(filter: JobFilter, page: Page): Promise<ListedRows<ImportRow>>;
  /** Creates the import and queues its task. */
  create(job: NewImport): Promise<{ readonly row: ImportRow; readonly task: TaskRow }>;
  /** The version of a file with which an import was created; undefined if none is stored, as for an import of an earlier release. */
  revisionOf(id: number, objectId: number): Promise<number | undefined>;
  update(id: number, patch: ImportPatch): Promise<ImportRow | undefined>;
  /** Deletes the import and its task, but not its commits. */
  delete(id: number): Promise<void>;
}

/** Returns access to the table of imports. */
export function importTable(db: Database): ImportTable {
  const get = async (id: number, from = db): Promise<ImportRow | undefined> => {
    const row = await from.get(sql`SELECT ${imports.columns} FROM imports WHERE id = ${id}`);
    return row && imports.parse(row);
  };
  return {
    get: (id) => get(id),
    list: (filter, page) => listJobs(db, imports, filter, page),
    create: (job) =>
      db.atomic(async (tx) => {
        const id = job.id ?? (await nextLargeId(tx));
        const commitId = job.commitId ?? (await nextLargeId(tx));
        const priority = job.priority ?? defaultPriority;
        const task = await insertTask(tx, {
          kind: 'import',
          // The client that sent `data_records` waits for the result.
          class: job.source === 'data_records' ? 'interactive' : 'standard',
          resourceId: id,
          description: job.taskDescription ?? 'Validate and prepare records',
          priority,
          userId: job.userId,
          accountId: job.accountId,
          targetObjectId: job.datasetId,
          sourceObjectId: null,
        });
        const row: ImportRow = {
          ...newJob(id, task, job.datasetId),
          metadata: job.metadata ?? {},
          title: job.title ?? 'Records Import',
          description: job.description ?? null,
          source: job.source,
          objectId: job.objectId ?? null,
          manifest: job.manifest ?? {},
          commitMode: job.commitMode ?? 'append',
          idFields: job.idFields ?? null,
          targetFields: job.targetFields ?? [],
          entityParams: job.entityParams ?? null,
          readerParams: job.readerParams ?? null,
          validationParams: job.validationParams ?? null,
          annotatorParams: job.annotatorParams ?? null,
          includeErrors: job.includeErrors ?? true,
          genomeBuild: job.genomeBuild ?? null,
          priority,
          commitId,
          isDryRun: job.isDryRun ?? false,
          tags: normalizeTags(job.tags ?? []),
        };
        await tx.run(imports.insert(row));
        await pinFileVersions(tx, id, [
          ...(row.objectId === null ? [] : [row.objectId]),
          ...(job.files ?? []),
        ]);
        await recordCreatedId(tx, id);
        return { row, task };
      }),
    revisionOf: async (id, objectId) => {
      const row = await db.get(sql`SELECT revision FROM import_files WHERE import_id = ${id} AND object_id = ${objectId}`); // prettier-ignore
      return row?.['revision'] as number | undefined;
    },
    update: (id, patch) =>
      // Reads and writes in one transaction, because the task of the import may change the server's keys of `metadata` at the same time.
      db.atomic(async (tx) => {
        const row = await get(id, tx);
        if (row === undefined) return undefined;
        const tags = patch.tags && normalizeTags(patch.tags);
        const metadata = patch.metadata && {
          ...selectEntries(row.metadata, (key) => serverMetadata.includes(key)),
          ...selectEntries(patch.metadata, (key) => !serverMetadata.includes(key)),
        };
        const changedFields = { ...patch, ...(tags && { tags }), ...(metadata && { metadata }) };
        await tx.run(imports.update(id, { ...changedFields, updatedAt: Date.now() })!);
        return get(id, tx);
      }),
    delete: async (id) => {
      await db.atomic(async (tx) => {
        await tx.run(sql`DELETE FROM imports WHERE id = ${id}`);
        await tx.run(sql`DELETE FROM tasks WHERE kind = 'import' AND resource_id = ${id}`);
      });
    },
  };
}

/** Pins the current versions of files for an import, which reads these versions even if the files change. */
async function pinFileVersions(
  tx: Database,
  id: number,
  fileIds: readonly number[],
): Promise<void> {
  for (const objectId of new Set(fileIds)) {
    await tx.run(sql`INSERT INTO import_files (import_id, object_id, revision)
      SELECT ${id}, objects.id, objects.revision FROM objects WHERE objects.id = ${objectId} AND objects.revision > 0`);
  }
}

/** The entries of an object whose keys are wanted. */
function selectEntries(object: JsonObject, isWanted: (key: string) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => isWanted(key)));
}
