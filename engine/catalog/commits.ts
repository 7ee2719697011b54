import { RowCache } from './cache.js';
import type { Database } from './database.js';
import { notFoundError } from '../core/errors.js';
import { jobColumns, listJobs, type JobFilter, type JobRow } from './jobs.js';
import type { ListedRows, Page } from './list-page.js';
import { sql, type Sql } from './sql.js';
import { tableCodec, type Millis } from './table-codec.js';

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

/** The version of a dataset that a completed commit has made. It remains when the row of the commit is deleted. */
export interface CommitVersion extends Pick<
  CommitRow,
  | 'id'
  | 'datasetId'
  | 'parentJobModel'
  | 'parentJobId'
  | 'mode'
  | 'recordsTotal'
  | 'recordsAdded'
  | 'logVersion'
> {
  readonly completedAt: Millis;
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

const versionColumns = {
  id: 'plain',
  datasetId: 'plain',
  parentJobModel: 'plain',
  parentJobId: 'plain',
  mode: 'plain',
  recordsTotal: 'plain',
  recordsAdded: 'plain',
  logVersion: 'plain',
  completedAt: 'plain',
} as const;

/** The versions of all commits, also of those whose rows were deleted: a view of `commits` and `deleted_commits`. */
const commitVersions = tableCodec<CommitVersion>('commitVersions', versionColumns, {});
/** Commits whose rows have been deleted from the catalogue. */
const deletedCommits = tableCodec<CommitVersion>('deletedCommits', versionColumns, {});

/** Commits. Only `publish` creates them. */
export interface CommitTable {
  get(id: number): Promise<CommitRow | undefined>;
  /** Lists the commits, newest first: those of one dataset by version, those of several by the time of their creation. */
  list(filter: JobFilter, page: Page): Promise<ListedRows<CommitRow>>;
  /** The commits of one import, oldest first. */
  ofImport(importId: number): Promise<readonly CommitRow[]>;
  /** The commits of one migration, oldest first. */
  ofMigration(migrationId: number): Promise<readonly CommitRow[]>;
  /** The version that a completed commit has made, also if its row was deleted. */
  version(id: number): Promise<CommitVersion | undefined>;
  /** The rollback of a commit; undefined if it has none. */
  rollbackOf(id: number): Promise<CommitVersion | undefined>;
  /** The commit of a dataset that made this version of its log; undefined if the commit was deleted or no commit made the version. */
  atVersion(datasetId: number, logVersion: number): Promise<CommitRow | undefined>;
  /** The overwrites, upserts and deletes after a version of a dataset that were not rolled back, oldest first. */
  changesAfter(datasetId: number, logVersion: number): Promise<readonly CommitVersion[]>;
  /** Whether a commit after a version may have added records with the `_id`s of earlier ones: an append gives new `_id`s to its records. */
  hasAddedAfter(datasetId: number, logVersion: number): Promise<boolean>;
  /** Returns the last commit of the dataset, in the order of its versions, that had completed at this time; undefined if there is none. */
  lastAt(datasetId: number, time: Millis): Promise<CommitVersion | undefined>;
  /** The last completed commit before a version of the dataset; undefined if there is none. */
  lastBefore(datasetId: number, logVersion: number): Promise<CommitVersion | undefined>;
  /** Deletes the row of a commit; its effect on the dataset and its version remain. */
  delete(id: number): Promise<void>;
  /** The commits of a dataset whose rows in the catalogue were deleted. */
  deleted(datasetId: number): Promise<readonly DeletedCommit[]>;
  /** Completes a deleted commit that has no `logVersion`. */
  completeDeleted(commit: CommitVersion): Promise<void>;
}

/** A commit whose row was deleted. */
interface DeletedCommit extends Pick<CommitVersion, 'id' | 'parentJobId'> {
  /** Null if an earlier release has deleted the commit, until a start or the restore of the dataset completes it. */
  readonly logVersion: number | null;
}

/** Returns access to the table of commits and to the versions of deleted commits. */
export function commitTable(db: Database): CommitTable {
  const ofJob = async (model: CommitRow['parentJobModel'], id: number) => {
    const rows = await db.all(sql`SELECT ${commits.columns} FROM commits
      WHERE parent_job_model = ${model} AND parent_job_id = ${id} ORDER BY id`);
    return rows.map((row) => commits.parse(row));
  };
  const cachedVersions = new RowCache<number, CommitVersion>(db);
  const versionWhere = async (condition: Sql): Promise<CommitVersion | undefined> => {
    const row = await db.get(
      sql`SELECT ${commitVersions.columns} FROM commit_versions WHERE ${condition}`,
    );
    return row && commitVersions.parse(row);
  };
  return {
    get: async (id) => {
      const row = await db.get(sql`SELECT ${commits.columns} FROM commits WHERE id = ${id}`);
      return row && commits.parse(row);
    },
    list: ({ statuses, ...filter }, page) => {
      // A job's commit gets its id when the job is created, but its version when the job ends.
      const isOfOneDataset = filter.datasetIds?.length === 1;
      const order = isOfOneDataset ? sql`commits.log_version DESC` : sql`commits.created_at DESC, commits.id DESC`; // prettier-ignore
      // Every commit is completed.
      const conditions = statuses?.includes('completed') === false ? [sql`1 = 0`] : [];
      return listJobs(db, commits, filter, page, { more: conditions, order });
    },
    ofImport: (id) => ofJob('datasets.DatasetImport', id),
    ofMigration: (id) => ofJob('datasets.DatasetMigration', id),
    version: (id) => cachedVersions.get(id, () => versionWhere(sql`id = ${id}`)),
    rollbackOf: (id) =>
      versionWhere(sql`parent_job_model = 'datasets.DatasetCommit' AND parent_job_id = ${id}`),
    atVersion: async (datasetId, logVersion) => {
      const row = await db.get(sql`SELECT ${commits.columns} FROM commits
        WHERE dataset_id = ${datasetId} AND log_version = ${logVersion}`);
      return row && commits.parse(row);
    },
    changesAfter: async (datasetId, logVersion) => {
      const rows = await db.all(sql`SELECT ${commitVersions.columns} FROM commit_versions
        WHERE dataset_id = ${datasetId} AND log_version > ${logVersion} AND mode IN ('overwrite', 'upsert', 'delete')
          AND NOT EXISTS (SELECT 1 FROM commit_versions rollback
            WHERE rollback.parent_job_id = commit_versions.id AND rollback.parent_job_model = 'datasets.DatasetCommit')
        ORDER BY log_version`);
      return rows.map((row) => commitVersions.parse(row));
    },
    hasAddedAfter: async (datasetId, logVersion) => {
      const row = await db.get(sql`SELECT id FROM commit_versions
        WHERE dataset_id = ${datasetId} AND log_version > ${logVersion} AND mode <> 'append' AND records_added > 0 LIMIT 1`);
      return row !== undefined;
    },
    lastAt: (datasetId, time) =>
      // No commit completes before its `created_at`, and to compare `created_at` costs less.
      versionWhere(sql`dataset_id = ${datasetId} AND created_at <= ${time} AND completed_at <= ${time}
        ORDER BY log_version DESC LIMIT 1`),
    lastBefore: (datasetId, logVersion) =>
      versionWhere(sql`dataset_id = ${datasetId} AND log_version < ${logVersion} ORDER BY log_version DESC LIMIT 1`), // prettier-ignore
    delete: async (id) => {
      await db.atomic(async (tx) => {
        // Another request may have deleted the commit meanwhile.
        if ((await commitTable(tx).get(id)) === undefined) throw notFoundError();
        const version = await commitTable(tx).version(id);
        if (version !== undefined) await tx.run(deletedCommits.insert(version));
        await tx.run(sql`DELETE FROM commits WHERE id = ${id}`);
        await tx.run(sql`DELETE FROM tasks WHERE kind = 'commit' AND resource_id = ${id}`);
      });
    },
    deleted: async (datasetId) => {
      const rows =
        await db.all(sql`SELECT id, parent_job_id AS "parentJobId", log_version AS "logVersion"
        FROM deleted_commits WHERE dataset_id = ${datasetId}`);
      return rows as unknown as readonly DeletedCommit[];
    },
    completeDeleted: async (commit) => {
      await db.run(deletedCommits.update(commit.id, commit)!);
    },
  };
}
