import type { JsonObject } from '../core/types.js';
import type { Database } from './database.js';
import { listPage, type AccessFilter, type Listed, type Page } from './list-page.js';
import { mayAccess } from './permission.js';
import { all, isOneOf, sql, type Sql } from './sql.js';
import { table, type Millis, type TableCodec } from './table.js';
import type { JobResourceKind, TaskRow, TaskStatus } from './task-row.js';

/** The properties that imports, exports, migrations and commits share. */
export interface JobRow {
  readonly id: number;
  readonly taskId: number | null;
  readonly datasetId: number;
  readonly userId: number;
  readonly status: TaskStatus;
  readonly errorMessage: string | null;
  /** Progress and validation results (contract 10.1). */
  readonly metadata: JsonObject;
  /** `[from, to, time]` triples (contract 10.1). */
  readonly timestamps: readonly (readonly [string, string, Millis])[];
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

/** The columns that the tables of imports, exports and commits share. */
export const jobColumns = {
  id: 'plain',
  taskId: 'plain',
  datasetId: 'plain',
  userId: 'plain',
  status: 'plain',
  errorMessage: 'plain',
  metadata: 'json',
  timestamps: 'json',
  createdAt: 'plain',
  updatedAt: 'plain',
} as const;

/** The shared columns in the table of each kind: enough to change a status without knowing the kind. */
export const jobs: Readonly<Record<JobResourceKind, TableCodec<JobRow, object>>> = Object.freeze({
  import: table<JobRow>('imports', jobColumns, {}),
  export: table<JobRow>('exports', jobColumns, {}),
  commit: table<JobRow>('commits', jobColumns, {}),
  migration: table<JobRow>('datasetMigrations', jobColumns, {}),
  snapshot: table<JobRow>('snapshots', jobColumns, {}),
  restore: table<JobRow>('restores', jobColumns, {}),
});

/** The list filters of imports, exports and commits. */
export interface JobFilter extends AccessFilter {
  readonly ids?: readonly number[];
  readonly datasetId?: number;
  readonly vaultId?: number;
  readonly statuses?: readonly TaskStatus[];
  readonly userIds?: readonly number[];
}

/** The jobs on datasets that the user may read, newest first; `more` restricts them further. */
export async function listJobs<R>(
  db: Database,
  codec: TableCodec<R, object>,
  filter: JobFilter,
  page: Page,
  more: readonly Sql[] = [],
): Promise<Listed<R>> {
  const jobs = codec.name;
  const clauses: Sql[] = [mayAccess(filter.viewer), ...more];
  if (filter.ids) clauses.push(isOneOf(sql`${jobs}.id`, filter.ids));
  if (filter.datasetId !== undefined) clauses.push(sql`${jobs}.dataset_id = ${filter.datasetId}`);
  if (filter.vaultId !== undefined) clauses.push(sql`objects.vault_id = ${filter.vaultId}`);
  if (filter.statuses) clauses.push(isOneOf(sql`${jobs}.status`, filter.statuses));
  if (filter.userIds) clauses.push(isOneOf(sql`${jobs}.user_id`, filter.userIds));
  const from = sql`${jobs} JOIN objects ON objects.id = ${jobs}.dataset_id
    JOIN vaults ON vaults.id = objects.vault_id`;
  return listPage(db, codec, { from, where: all(clauses), orderBy: sql`${jobs}.id DESC` }, page);
}

/** The shared properties of a job that has just been created with its task. */
export function newJob(
  id: number,
  task: TaskRow,
  datasetId: number,
): Omit<JobRow, 'metadata'> & { metadata: JsonObject } {
  return {
    id,
    taskId: task.id,
    datasetId,
    userId: task.userId,
    status: task.status,
    errorMessage: null,
    metadata: {},
    timestamps: [['new', task.status, task.createdAt]],
    createdAt: task.createdAt,
    updatedAt: task.createdAt,
  };
}
