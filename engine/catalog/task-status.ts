import { budgets } from '../core/budgets.js';
import { AppError } from '../core/errors.js';
import type { JsonObject } from '../core/types.js';
import { changeAvailability } from './archive-status.js';
import type { Database } from './database.js';
import { nextLargeId } from './ids.js';
import { jobResources, type StatusRow } from './jobs.js';
import { sql } from './sql.js';
import type { TableCodec } from './table-codec.js';
import {
  canTransition,
  tasks,
  type JobResourceKind,
  type TaskClass,
  type TaskRow,
  type TaskStatus,
} from './task-row.js';

/** Changes to a task and its job that are made in the same transaction as the change of the status. */
export interface StatusChange {
  readonly errorMessage?: string | null;
  /** Keys to set in the job's metadata. */
  readonly metadata?: JsonObject;
  readonly attempts?: number;
  /** The result, for a task whose kind has no resource. */
  readonly result?: JsonObject;
  readonly now?: number;
}

/** Thrown with code `conflict` if a task cannot change from its status to the requested one. Trying again does not help. */
export class TransitionError extends AppError {
  constructor({ id, status }: TaskRow, to: TaskStatus) {
    super('conflict', `task ${id} is ${status} and cannot become ${to}`);
    this.name = 'TransitionError';
  }
}

/**
 * Changes the status of a task and, in the same transaction, the status and timestamps of its job, so that the two always agree.
 * Throws `TransitionError` if the transition is not allowed.
 */
export async function changeStatus(
  db: Database,
  task: TaskRow,
  to: TaskStatus,
  change: StatusChange = {},
): Promise<TaskRow> {
  if (!canTransition(task.status, to)) throw new TransitionError(task, to);
  return setStatus(db, task, to, change);
}

/**
 * Changes the status of a task and its job without checking the transition: a canceled task becomes completed if the log, which is
 * authoritative, has its commit.
 */
export async function setStatus(
  db: Database,
  task: TaskRow,
  to: TaskStatus,
  change: StatusChange = {},
): Promise<TaskRow> {
  const now = change.now ?? Date.now();
  const changedTask: TaskRow = {
    ...task,
    status: to,
    attempts: change.attempts ?? task.attempts,
    cancelRequested: to === 'canceled',
    isPublishing: false,
    updatedAt: now,
    ...(task.params !== null && { errorMessage: change.errorMessage ?? null }),
    result: change.result ?? task.result,
  };
  await db.atomic(async (tx) => {
    await tx.run(tasks.update(task.id, changedTask)!);
    const job = await readJobOfTask(tx, task);
    if (job === undefined) return;
    // If a restart queues the task again, the availability of its dataset is not changed here: the reconciliation sets it, and may have
    // refused to open the dataset.
    if (to !== 'queued') await changeAvailability(tx, task, to);
    const update = jobCodecOf(task.kind)!.update(job.id, {
      status: to,
      timestamps: [...job.timestamps, [job.status, to, now]],
      ...(change.errorMessage !== undefined && { errorMessage: change.errorMessage }),
      ...(change.metadata !== undefined && { metadata: { ...job.metadata, ...change.metadata } }),
      updatedAt: now,
    });
    await tx.run(update!);
  });
  return changedTask;
}

/** The codec for the common columns of the resource of this kind; undefined if the kind has no resource. */
export function jobCodecOf(kind: string): TableCodec<StatusRow, object> | undefined {
  return Object.hasOwn(jobResources, kind)
    ? jobResources[kind as JobResourceKind].codec
    : undefined;
}

/** Returns the resource that a task runs, such as an import; undefined if it has been deleted, or the kind has no resource. */
export async function readJobOfTask(
  db: Database,
  task: Pick<TaskRow, 'kind' | 'resourceId'>,
): Promise<StatusRow | undefined> {
  const codec = jobCodecOf(task.kind);
  if (codec === undefined) return undefined;
  const row = await db.get(
    sql`SELECT ${codec.columns} FROM ${codec.name} WHERE id = ${task.resourceId}`,
  );
  return row && codec.parse(row);
}

/** The task to insert with a new job. */
interface NewTask {
  readonly kind: JobResourceKind;
  readonly class?: TaskClass;
  readonly resourceId: number;
  readonly description: string;
  readonly priority: number;
  readonly userId: number;
  readonly accountId: number;
  readonly parentId?: number | null;
  readonly targetObjectId: number | null;
  readonly sourceObjectId: number | null;
  /** Whether the task may be queued while the queue of its account is full. */
  readonly ignoresQueueLimit?: boolean;
}

/** Inserts a task, in the transaction that inserts its job. Throws `budget` if the account's queue is full. */
export async function insertTask(
  tx: Database,
  { ignoresQueueLimit = false, ...task }: NewTask,
  status: TaskStatus = 'queued',
  now = Date.now(),
): Promise<TaskRow> {
  if (status === 'queued' && !ignoresQueueLimit) await requireQueueCapacity(tx, task.accountId);
  const row: TaskRow = {
    ...task,
    id: await nextLargeId(tx),
    class: task.class ?? 'standard',
    params: null,
    errorMessage: null,
    result: null,
    status,
    attempts: 0,
    parentId: task.parentId ?? null,
    cancelRequested: false,
    isPublishing: false,
    createdAt: now,
    updatedAt: now,
  };
  await tx.run(tasks.insert(row));
  return row;
}

/** Throws `budget` if the account has too many tasks in the queue. */
export async function requireQueueCapacity(tx: Database, accountId: number): Promise<void> {
  const row = await tx.get(sql`SELECT COALESCE(SUM(count), 0) AS waiting FROM task_counts
    WHERE account_id = ${accountId} AND status = 'queued' AND class <> 'background'`);
  if ((row!['waiting'] as number) < budgets.tasksQueuedPerAccount) return;
  throw new AppError(
    'budget',
    `This account has ${budgets.tasksQueuedPerAccount} tasks waiting, and no more may wait at a time: try again when some have ended, or cancel some.`,
  );
}
