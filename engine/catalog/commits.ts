import type { Database } from './database.js';
import { listJobs, type JobFilter } from './job-list.js';
import { commits } from './job-rows.js';
import type { Listed, Page } from './page.js';
import type { CommitRow } from './rows.js';
import { sql } from './sql.js';

/** The commits; only `publish` makes them. */
export interface CommitTable {
  get(id: number): Promise<CommitRow | undefined>;
  /** Newest first. */
  list(filter: JobFilter, page: Page): Promise<Listed<CommitRow>>;
  /** Those of one import, oldest first. */
  ofImport(importId: number): Promise<readonly CommitRow[]>;
  delete(id: number): Promise<void>;
}

/** The commits of a catalogue. */
export function commitTable(db: Database): CommitTable {
  return {
    get: async (id) => {
      const row = await db.get(sql`SELECT ${commits.columns} FROM commits WHERE id = ${id}`);
      return row && commits.parse(row);
    },
    list: (filter, page) => listJobs(db, commits, filter, page),
    ofImport: async (importId) => {
      const rows = await db.all(sql`SELECT ${commits.columns} FROM commits
        WHERE parent_job_model = 'datasets.DatasetImport' AND parent_job_id = ${importId} ORDER BY id`);
      return rows.map((row) => commits.parse(row));
    },
    delete: async (id) => {
      await db.atomic(async (tx) => {
        await tx.run(sql`DELETE FROM commits WHERE id = ${id}`);
        await tx.run(sql`DELETE FROM tasks WHERE kind = 'commit' AND resource_id = ${id}`);
      });
    },
  };
}
