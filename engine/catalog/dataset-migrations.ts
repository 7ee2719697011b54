import type { JsonObject } from '../core/types.js';
import type { AsOf, CommitMode } from './commits.js';
import type { Database } from './database.js';
import { recordCreatedId } from './idempotency-keys.js';
import { nextLargeId } from './ids.js';
import { jobColumns, listJobs, newJob, type JobFilter, type JobRow } from './jobs.js';
import type { ListedRows, Page } from './list-page.js';
import { isOneOf, sql } from './sql.js';
import { tableCodec } from './table-codec.js';
import { activeStatuses, type TaskRow } from './task-row.js';
import { insertTask } from './task-status.js';

/**
 * A migration, which applies the records of a query of one dataset to another or the same dataset. `datasetId` is the target; the
 * permissions of the target apply.
 */
export interface DatasetMigrationRow extends JobRow {
  /** The dataset from which the migration reads; it may have been deleted since. */
  readonly sourceId: number;
  readonly sourceParams: JsonObject;
  /** The version of the source that the request names; null for the version that is newest when the migration runs. */
  readonly asOf: AsOf | null;
  readonly targetFields: readonly JsonObject[];
  readonly commitMode: CommitMode;
  /** The fields by which the migration identifies the records that it changes; null for `_id`. */
  readonly idFields: readonly string[] | null;
  readonly includeErrors: boolean;
  readonly entityParams: JsonObject | null;
  readonly validationParams: JsonObject | null;
  readonly annotatorParams: JsonObject | null;
  readonly priority: number;
  /** The id of the commit, which is allocated with the migration, because records contain it before the commit exists. */
  readonly commitId: number;
  /** True if the migration only reports what it would do and leaves the target unchanged. */
  readonly isDryRun: boolean;
  /** The number of records of the query: until the migration has run, as counted when it was requested; then the number found. */
  readonly documentsCount: number | null;
}

const datasetMigrations = tableCodec<DatasetMigrationRow>(
  'datasetMigrations',
  {
    ...jobColumns,
    sourceId: 'plain',
    sourceParams: 'json',
    asOf: 'json',
    targetFields: 'json',
    commitMode: 'plain',
    idFields: 'json',
    includeErrors: 'flag',
    entityParams: 'json',
    validationParams: 'json',
    annotatorParams: 'json',
    priority: 'plain',
    commitId: 'plain',
    isDryRun: 'flag',
    documentsCount: 'plain',
  },
  {},
);

export interface NewDatasetMigration {
  readonly sourceId: number;
  readonly targetId: number;
  readonly userId: number;
  readonly accountId: number;
  readonly sourceParams?: JsonObject;
  readonly asOf?: AsOf | null;
  readonly targetFields?: readonly JsonObject[];
  readonly commitMode?: CommitMode;
  readonly idFields?: readonly string[] | null;
  readonly includeErrors?: boolean;
  readonly entityParams?: JsonObject | null;
  readonly validationParams?: JsonObject | null;
  readonly annotatorParams?: JsonObject | null;
  readonly priority?: number;
  readonly isDryRun?: boolean;
  readonly documentsCount?: number | null;
  readonly metadata?: JsonObject;
}

const defaultPriority = 15; // runs after imports, whose default is 10, and before exports, whose default is 20

/** Migrations. The status of a migration follows that of its task. */
interface DatasetMigrationTable {
  get(id: number): Promise<DatasetMigrationRow | undefined>;
  /** Lists the migrations, newest first; the filter `datasetIds` names sources. */
  list(filter: JobFilter, page: Page): Promise<ListedRows<DatasetMigrationRow>>;
  /** Creates the migration and queues its task. */
  create(job: NewDatasetMigration): Promise<{ readonly row: DatasetMigrationRow; readonly task: TaskRow }>; // prettier-ignore
  /** Sets the number of records that the query found. */
  setDocumentsCount(id: number, documents: number): Promise<void>;
  /** The versions of a dataset that unfinished migrations with a fixed version read. */
  openVersions(sourceId: number): Promise<readonly number[]>;
  /** Deletes the migration and its task, but not its commits. */
  delete(id: number): Promise<void>;
}

/** Returns access to the table of migrations of datasets. */
export function datasetMigrationTable(db: Database): DatasetMigrationTable {
  return {
    get: async (id) => {
      const row = await db.get(sql`SELECT ${datasetMigrations.columns} FROM dataset_migrations WHERE id = ${id}`); // prettier-ignore
      return row && datasetMigrations.parse(row);
    },
    list: ({ datasetIds, ...filter }, page) => {
      const sourceConditions = datasetIds
        ? [isOneOf(sql`dataset_migrations.source_id`, datasetIds)]
        : [];
      return listJobs(db, datasetMigrations, filter, page, { more: sourceConditions });
    },
    openVersions: async (sourceId) => {
      const rows = await db.all(sql`SELECT ${datasetMigrations.columns} FROM dataset_migrations
        WHERE source_id = ${sourceId} AND as_of IS NOT NULL AND ${isOneOf(sql`status`, activeStatuses)}`);
      return rows.flatMap((row) => datasetMigrations.parse(row).asOf?.version ?? []);
    },
    create: (job) =>
      db.atomic(async (tx) => {
        const id = await nextLargeId(tx);
        const commitId = await nextLargeId(tx);
        const priority = job.priority ?? defaultPriority;
        const task = await insertTask(tx, {
          kind: 'migration',
          resourceId: id,
          description: 'Migrate records',
          priority,
          userId: job.userId,
          accountId: job.accountId,
          targetObjectId: job.targetId,
          sourceObjectId: job.sourceId,
        });
        const row: DatasetMigrationRow = {
          ...newJob(id, task, job.targetId),
          metadata: job.metadata ?? {},
          sourceId: job.sourceId,
          sourceParams: job.sourceParams ?? {},
          asOf: job.asOf ?? null,
          targetFields: job.targetFields ?? [],
          commitMode: job.commitMode ?? 'append',
          idFields: job.idFields ?? null,
          includeErrors: job.includeErrors ?? true,
          entityParams: job.entityParams ?? null,
          validationParams: job.validationParams ?? null,
          annotatorParams: job.annotatorParams ?? null,
          priority,
          commitId,
          isDryRun: job.isDryRun ?? false,
          documentsCount: job.documentsCount ?? null,
        };
        await tx.run(datasetMigrations.insert(row));
        await recordCreatedId(tx, id);
        return { row, task };
      }),
    setDocumentsCount: async (id, documents) => {
      await db.run(sql`UPDATE dataset_migrations SET documents_count = ${documents} WHERE id = ${id}`); // prettier-ignore
    },
    delete: async (id) => {
      await db.atomic(async (tx) => {
        await tx.run(sql`DELETE FROM dataset_migrations WHERE id = ${id}`);
        await tx.run(sql`DELETE FROM tasks WHERE kind = 'migration' AND resource_id = ${id}`);
      });
    },
  };
}
