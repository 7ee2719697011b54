import type { JsonObject } from '../core/types.js';
import { sql, type Sql } from './sql.js';
import { tableCodec, type Millis } from './table-codec.js';

/** The kinds of task whose resource has a table of its own. */
export type JobResourceKind = 'import' | 'export' | 'migration' | 'commit' | 'copy' | ArchiveKind;

/** The kinds of task that move a dataset into its archive and restore it. */
export const archiveKinds = ['snapshot', 'restore'] as const;
export type ArchiveKind = (typeof archiveKinds)[number];

/**
 * Which tasks a task competes with. `interactive`: a task that a user requests with a request that waits for it. `background`: a
 * standalone task that the server adds, also for a query that waits for it; only administrators can list it. `standard`: any other task.
 */
export const taskClasses = ['interactive', 'standard', 'background'] as const;
export type TaskClass = (typeof taskClasses)[number];

export type TaskStatus = 'pending' | 'queued' | 'running' | 'completed' | 'failed' | 'canceled';
export interface TaskRow {
  readonly id: number;
  /** The kind of the task: one that `scheduler/jobs` declares, or `commit`. */
  readonly kind: string;
  readonly class: TaskClass;
  /**
   * The id of the import, export, migration, commit, copy, snapshot or restore that the task runs; the id of the task itself if its kind
   * has no resource.
   */
  readonly resourceId: number;
  readonly status: TaskStatus;
  readonly description: string;
  readonly priority: number; // tasks with a lower number run first
  readonly attempts: number;
  readonly parentId: number | null;
  readonly userId: number;
  readonly accountId: number;
  readonly targetObjectId: number | null;
  readonly sourceObjectId: number | null;
  readonly cancelRequested: boolean;
  /** True while the result is being made visible: the task can no longer be canceled. */
  readonly isPublishing: boolean;
  /** The parameters of a task whose kind has no resource. */
  readonly params: JsonObject | null;
  /** Why a task whose kind has no resource failed. */
  readonly errorMessage: string | null;
  /** The result of a task whose kind has no resource, with the keys of the HTTP interface; null for kinds that store no result. */
  readonly result: JsonObject | null;
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

export const tasks = tableCodec<TaskRow>(
  'tasks',
  {
    id: 'plain',
    kind: 'plain',
    class: 'plain',
    resourceId: 'plain',
    status: 'plain',
    description: 'plain',
    priority: 'plain',
    attempts: 'plain',
    parentId: 'plain',
    userId: 'plain',
    accountId: 'plain',
    targetObjectId: 'plain',
    sourceObjectId: 'plain',
    cancelRequested: 'flag',
    isPublishing: 'flag',
    params: 'json',
    errorMessage: 'plain',
    result: 'json',
    createdAt: 'plain',
    updatedAt: 'plain',
  },
  {},
);

/**
 * The allowed transitions of a task's status. A running task returns to `queued` if it is tried again, for example because its process
 * died. A finished task keeps its status, unless `setStatus` completes it.
 */
export const allowedTransitions: Readonly<Record<TaskStatus, readonly TaskStatus[]>> =
  Object.freeze({
    pending: Object.freeze(['queued', 'canceled', 'failed'] as const),
    queued: Object.freeze(['running', 'canceled', 'failed'] as const),
    running: Object.freeze(['completed', 'failed', 'canceled', 'queued'] as const),
    completed: Object.freeze([] as const),
    failed: Object.freeze([] as const),
    canceled: Object.freeze([] as const),
  });

/** The statuses of unfinished tasks, which clients poll (contract 15.3). */
export const activeStatuses: readonly TaskStatus[] = Object.freeze([
  'pending',
  'queued',
  'running',
] as const);

/** True if a task may change from one status to the other. */
export function canTransition(from: TaskStatus, to: TaskStatus): boolean {
  return allowedTransitions[from].includes(to);
}

/** True until a task is finished. */
export function isActiveStatus(status: TaskStatus): boolean {
  return activeStatuses.includes(status);
}

/**
 * The condition that a task is active, on the columns of `table`. SQLite uses the indexes of active tasks only where the statuses are
 * literals, as in their definition.
 */
export function isActiveTask(table: Sql): Sql {
  return sql`${table}.status IN ('pending', 'queued', 'running')`;
}
