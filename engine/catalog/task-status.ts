import { budgets } from '../core/budgets.js';
import { AppError } from '../core/errors.js';
import type { JsonObject } from '../core/types.js';
import type { Database } from './database.js';
import { nextLargeId } from './ids.js';
import { jobs, type JobRow } from './jobs.js';
import { sql } from './sql.js';
import { canTransition, tasks, type TaskKind, type TaskRow, type TaskStatus } from './task-row.js';

/** What a change of status brings with it. */
export interface StatusChange {
  readonly errorMessage?: string | null;
  /** Keys to replace in the job's metadata. */
  readonly metadata?: JsonObject;
  readonly attempts?: number;
  readonly now?: number;
}

/**
 * The only code that changes the status of a task: its import, export or commit gets the same status and a line in its
 * timestamps in the same transaction, so the two never disagree.
 */
export async function changeStatus(
  db: Database,
  task: TaskRow,
  to: TaskStatus,
  change: StatusChange = {},
): Promise<TaskRow> {
  if (!canTransition(task.status, to)) {
    throw new AppError('conflict', `task ${task.id} is ${task.status} and cannot become ${to}`);
  }
  return setStatus(db, task, to, change);
}

/** The same without the check, for a log entry that outlived the catalogue's transaction: the log is the truth. */
export async function setStatus(
  db: Database,
  task: TaskRow,
  to: TaskStatus,
  change: StatusChange = {},
): Promise<TaskRow> {
  const now = change.now ?? Date.now();
  const changed: TaskRow = {
    ...task,
    status: to,
    attempts: change.attempts ?? task.attempts,
    cancelRequested: to === 'canceled',
    isPublishing: false,
    updatedAt: now,
  };
  await db.atomic(async (tx) => {
    await tx.run(tasks.update(task.id, changed)!);
    const job = await jobOfTask(tx, task);
    if (job === undefined) return;
    const update = jobs[task.kind].update(job.id, {
      status: to,
      timestamps: [...job.timestamps, [job.status, to, now]],
      ...(change.errorMessage !== undefined && { errorMessage: change.errorMessage }),
      ...(change.metadata !== undefined && { metadata: { ...job.metadata, ...change.metadata } }),
      updatedAt: now,
    });
    await tx.run(update!);
  });
  return changed;
}

/** The import, export or commit that a task runs; undefined if it has been deleted. */
export async function jobOfTask(
  db: Database,
  task: Pick<TaskRow, 'kind' | 'resourceId'>,
): Promise<JobRow | undefined> {
  const shape = jobs[task.kind];
  const row = await db.get(
    sql`SELECT ${shape.columns} FROM ${shape.name} WHERE id = ${task.resourceId}`,
  );
  return row && shape.parse(row);
}

/** What a new job says about the task that runs it. */
export interface NewTask {
  readonly kind: TaskKind;
  readonly resourceId: number;
  readonly description: string;
  readonly priority: number;
  readonly userId: number;
  readonly accountId: number;
  readonly parentId?: number | null;
  readonly targetObjectId: number | null;
  readonly sourceObjectId: number | null;
}

/** Adds a task to the queue, inside the transaction that adds its job. */
export async function insertTask(
  tx: Database,
  task: NewTask,
  status: TaskStatus = 'queued',
  now = Date.now(),
): Promise<TaskRow> {
  if (status === 'queued') await refuseFullQueue(tx, task.accountId);
  const row: TaskRow = {
    ...task,
    id: await nextLargeId(tx),
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

async function refuseFullQueue(tx: Database, accountId: number): Promise<void> {
  const row = await tx.get(
    sql`SELECT COUNT(*) AS waiting FROM tasks WHERE status = 'queued' AND account_id = ${accountId}`,
  );
  if ((row!['waiting'] as number) < budgets.tasksQueuedPerAccount) return;
  throw new AppError(
    'budget',
    `this account has ${budgets.tasksQueuedPerAccount} tasks waiting (budget tasksQueuedPerAccount); try again later`,
  );
}
