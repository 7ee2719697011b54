import type { JsonObject } from '../core/types.js';
import type { Database } from './database.js';
import { listPage, type AccessFilter, type ListedRows, type Page } from './list-page.js';
import { mayAccess } from './permission.js';
import { conjunctionOf, isOneOf, sql, type Sql } from './sql.js';
import { tableCodec, type Millis, type TableCodec } from './table-codec.js';
import type { JobResourceKind, TaskRow, TaskStatus } from './task-row.js';

/** The properties of everything that a task executes: its status follows that of the task. */
export interface StatusRow {
  readonly id: number;
  readonly taskId: number | null;
  readonly userId: number;
  readonly status: TaskStatus;
  readonly errorMessage: string | null;
  /** Progress and validation results (contract 10.1), and the keys that the user has set. */
  readonly metadata: JsonObject;
  /** `[from, to, time]` triples (contract 10.1). */
  readonly timestamps: readonly (readonly [string, string, Millis])[];
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

/** The properties that imports, exports, migrations, commits, snapshots and restores share. */
export interface JobRow extends StatusRow {
  readonly datasetId: number;
}

/** The columns of everything that a task executes. */
export const statusColumns = {
  id: 'plain',
  taskId: 'plain',
  userId: 'plain',
  status: 'plain',
  errorMessage: 'plain',
  metadata: 'json',
  timestamps: 'json',
  createdAt: 'plain',
  updatedAt: 'plain',
} as const;

/** The columns of the properties of `JobRow`. */
export const jobColumns = { ...statusColumns, datasetId: 'plain' } as const;

/** What the catalogue knows about a kind of task with a resource. */
interface JobResource {
  /** The codec of the columns that all kinds share, so that a status can be changed without knowing the other columns of the table. */
  readonly codec: TableCodec<StatusRow, object>;
  /** Whether only the user who created such a task may use it, because it belongs to no single object. */
  readonly isPersonal?: boolean;
}

/** The kinds of task with a resource. */
export const jobResources: Readonly<Record<JobResourceKind, JobResource>> = Object.freeze({
  import: { codec: tableCodec<StatusRow>('imports', statusColumns, {}) },
  export: { codec: tableCodec<StatusRow>('exports', statusColumns, {}) },
  commit: { codec: tableCodec<StatusRow>('commits', statusColumns, {}) },
  migration: { codec: tableCodec<StatusRow>('datasetMigrations', statusColumns, {}) },
  snapshot: { codec: tableCodec<StatusRow>('snapshots', statusColumns, {}) },
  restore: { codec: tableCodec<StatusRow>('restores', statusColumns, {}) },
  copy: { codec: tableCodec<StatusRow>('objectCopies', statusColumns, {}), isPersonal: true },
});

/** The kinds of task that only the user who created them may use. */
export const personalKinds: readonly string[] = Object.entries(jobResources)
  .filter(([, { isPersonal }]) => isPersonal === true)
  .map(([kind]) => kind);

/** The list filters of the jobs on datasets, whose rows are `JobRow`s. */
export interface JobFilter extends AccessFilter {
  readonly ids?: readonly number[];
  readonly datasetIds?: readonly number[];
  readonly vaultIds?: readonly number[];
  readonly statuses?: readonly TaskStatus[];
  readonly userIds?: readonly number[];
}

/** Lists the jobs on datasets that the user may read, newest first unless `order` says otherwise; `more` adds further conditions. */
export async function listJobs<R>(
  db: Database,
  codec: TableCodec<R, object>,
  filter: JobFilter,
  page: Page,
  { more = [], order }: { readonly more?: readonly Sql[]; readonly order?: Sql } = {},
): Promise<ListedRows<R>> {
  const jobs = codec.name;
  const clauses: Sql[] = [mayAccess(filter.viewer), ...more];
  if (filter.ids) clauses.push(isOneOf(sql`${jobs}.id`, filter.ids));
  if (filter.datasetIds) clauses.push(isOneOf(sql`${jobs}.dataset_id`, filter.datasetIds));
  if (filter.vaultIds) clauses.push(isOneOf(sql`objects.vault_id`, filter.vaultIds));
  if (filter.statuses) clauses.push(isOneOf(sql`${jobs}.status`, filter.statuses));
  if (filter.userIds) clauses.push(isOneOf(sql`${jobs}.user_id`, filter.userIds));
  const from = sql`${jobs} JOIN objects ON objects.id = ${jobs}.dataset_id
    JOIN vaults ON vaults.id = objects.vault_id`;
  const { statuses = [] } = filter;
  // Jobs of several statuses are found by an index and sorted, unless they are most of all jobs. The plus sign keeps SQLite from reading
  // jobs of all statuses in the order of their ids instead.
  const isSorted = statuses.length > 1 && !statuses.includes('completed');
  const orderBy = order ?? (isSorted ? sql`+${jobs}.id DESC` : sql`${jobs}.id DESC`);
  return listPage(db, codec, { from, where: conjunctionOf(clauses), orderBy }, page);
}

/** The shared properties of a job that has just been created with its task. */
export function newJob(id: number, task: TaskRow, datasetId: number): JobRow {
  return { ...newStatus(id, task), datasetId };
}

/** The shared properties of anything whose status follows a task and that has just been created with its task. */
export function newStatus(id: number, task: TaskRow): StatusRow {
  return {
    id,
    taskId: task.id,
    userId: task.userId,
    status: task.status,
    errorMessage: null,
    metadata: {},
    timestamps: [['new', task.status, task.createdAt]],
    createdAt: task.createdAt,
    updatedAt: task.createdAt,
  };
}
