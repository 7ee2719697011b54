import type { Database } from './database.js';
import { jobColumns, listJobs, type JobFilter, type JobRow } from './jobs.js';
import type { ListedRows, Page } from './list-page.js';
import { sql } from './sql.js';
import { tableCodec, type Millis } from './table.js';

export type CommitMode = 'append' | 'overwrite' | 'upsert' | 'delete';

export interface CommitRow extends JobRow {
  readonly title: string;
  readonly description: string | null;
  readonly mode: CommitMode | 'rollback';
  readonly parentJobModel:
    'datasets.DatasetImport' | 'datasets.DatasetMigration' | 'datasets.DatasetCommit';
  readonly parentJobId: number;
  readonly recordsTotal: number; // number of records of the dataset after the commit
  readonly recordsModified: number;
  readonly recordsAdded: number;
  readonly recordsChanged: number;
  readonly recordsRemoved: number;
  readonly fields: readonly { readonly name: string; readonly is_new: boolean }[];
  readonly size: number;
  readonly logVersion: number;
  readonly genomeBuild: string | null;
}

/** The version of a dataset that `as_of` names, in the form of answers. */
export interface AsOf {
  /** The newest commit in the version; null before the first commit. */
  readonly commit_id: number | null;
  /** The version in the log; -1 before the first commit. */
  readonly version: number;
}

export const commits = tableCodec<CommitRow>(
  'commits',
  {
    ...jobColumns,
    title: 'plain',
    description: 'plain',
    mode: 'plain',
    parentJobModel: 'plain',
    parentJobId: 'plain',
    recordsTotal: 'plain',
    recordsModified: 'plain',
    recordsAdded: 'plain',
    recordsChanged: 'plain',
    recordsRemoved: 'plain',
    fields: 'json',
    size: 'plain',
    logVersion: 'plain',
    genomeBuild: 'plain',
  },
  {},
);

/** Commits. Only `publish` creates them. */
export interface CommitTable {
  get(id: number): Promise<CommitRow | undefined>;
  /** Lists the commits, newest first. */
  list(filter: JobFilter, page: Page): Promise<ListedRows<CommitRow>>;
  /** The commits of one import, oldest first. */
  ofImport(importId: number): Promise<readonly CommitRow[]>;
  /** The commits of one migration, oldest first. */
  ofMigration(migrationId: number): Promise<readonly CommitRow[]>;
  /** The rollback of a commit; undefined if it has none. */
  rollbackOf(id: number): Promise<CommitRow | undefined>;
  /** The commit of a dataset that made this version of its log; undefined if the commit was deleted or a compaction made the version. */
  atVersion(datasetId: number, logVersion: number): Promise<CommitRow | undefined>;
  /** The commits after a version of a dataset that changed or removed records and were not rolled back, oldest first. */
  changesAfter(datasetId: number, logVersion: number): Promise<readonly CommitRow[]>;
  /** Returns the last commit of the dataset, in the order of its versions, that had completed at this time; undefined if there is none. */
  lastAt(datasetId: number, time: Millis): Promise<CommitRow | undefined>;
  /** The last completed commit before a version of the dataset; undefined if there is none. */
  lastBefore(datasetId: number, logVersion: number): Promise<CommitRow | undefined>;
  /** Deletes the row of a commit; its effect on the dataset remains. */
  delete(id: number): Promise<void>;
  /** The commits of a dataset whose rows in the catalogue were deleted. */
  deleted(datasetId: number): Promise<readonly Pick<CommitRow, 'id' | 'parentJobId'>[]>;
}

/** Statements over commits. */
export function commitTable(db: Database): CommitTable {
  const ofJob = async (model: CommitRow['parentJobModel'], id: number) => {
    const rows = await db.all(sql`SELECT ${commits.columns} FROM commits
      WHERE parent_job_model = ${model} AND parent_job_id = ${id} ORDER BY id`);
    return rows.map((row) => commits.parse(row));
  };
  return {
    get: async (id) => {
      const row = await db.get(sql`SELECT ${commits.columns} FROM commits WHERE id = ${id}`);
      return row && commits.parse(row);
    },
    list: (filter, page) => listJobs(db, commits, filter, page),
    ofImport: (id) => ofJob('datasets.DatasetImport', id),
    ofMigration: (id) => ofJob('datasets.DatasetMigration', id),
    rollbackOf: async (id) => {
      const row = await db.get(sql`SELECT ${commits.columns} FROM commits
        WHERE parent_job_model = 'datasets.DatasetCommit' AND parent_job_id = ${id} AND status = 'completed'`);
      return row && commits.parse(row);
    },
    atVersion: async (datasetId, logVersion) => {
      const row = await db.get(sql`SELECT ${commits.columns} FROM commits
        WHERE dataset_id = ${datasetId} AND log_version = ${logVersion}`);
      return row && commits.parse(row);
    },
    changesAfter: async (datasetId, logVersion) => {
      const rows = await db.all(sql`SELECT ${commits.columns} FROM commits
        WHERE dataset_id = ${datasetId} AND log_version > ${logVersion} AND mode IN ('overwrite', 'upsert', 'delete')
          AND id NOT IN (SELECT parent_job_id FROM commits
            WHERE dataset_id = ${datasetId} AND parent_job_model = 'datasets.DatasetCommit' AND status = 'completed')
        ORDER BY log_version`);
      return rows.map((row) => commits.parse(row));
    },
    lastAt: async (datasetId, time) => {
      let belowVersion = Number.MAX_SAFE_INTEGER;
      for (;;) {
        // A commit completes after its row is created, so only the commits created until `time` are read; those that completed later are
        // skipped.
        const rows = await db.all(sql`SELECT ${commits.columns} FROM commits
          WHERE dataset_id = ${datasetId} AND status = 'completed' AND created_at <= ${time}
            AND log_version < ${belowVersion} ORDER BY log_version DESC LIMIT 10`);
        const page = rows.map((row) => commits.parse(row));
        const found = page.find((row) => completionTime(row) <= time);
        if (found !== undefined || page.length === 0) return found;
        belowVersion = page.at(-1)!.logVersion;
      }
    },
    deleted: async (datasetId) => {
      const rows = await db.all(sql`SELECT id, parent_job_id FROM deleted_commits WHERE dataset_id = ${datasetId}`); // prettier-ignore
      return rows.map((row) => ({ id: Number(row['id']), parentJobId: Number(row['parent_job_id']) })); // prettier-ignore
    },
    lastBefore: async (datasetId, logVersion) => {
      const row = await db.get(sql`SELECT ${commits.columns} FROM commits
        WHERE dataset_id = ${datasetId} AND status = 'completed' AND log_version < ${logVersion}
        ORDER BY log_version DESC LIMIT 1`);
      return row && commits.parse(row);
    },
    delete: async (id) => {
      await db.atomic(async (tx) => {
        await tx.run(sql`INSERT INTO deleted_commits (id, dataset_id, parent_job_id)
          SELECT id, dataset_id, parent_job_id FROM commits WHERE id = ${id}`);
        await tx.run(sql`DELETE FROM commits WHERE id = ${id}`);
        await tx.run(sql`DELETE FROM tasks WHERE kind = 'commit' AND resource_id = ${id}`);
      });
    },
  };
}

function completionTime({ timestamps }: CommitRow): Millis {
  return timestamps.findLast(([, to]) => to === 'completed')?.[2] ?? Infinity;
}
