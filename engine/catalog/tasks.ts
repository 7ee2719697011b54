import { budgets } from '../core/budgets.js';
import { invalid } from '../core/errors.js';
import type { JsonObject } from '../core/types.js';
import type { Database } from './database.js';
import { jobs, type JobRow } from './jobs.js';
import { listPage, type AccessFilter, type Listed, type Page } from './list-page.js';
import { mayAccess } from './permission.js';
import { all, isOneOf, sql, type Sql } from './sql.js';
import { isActive, tasks, type TaskKind, type TaskRow, type TaskStatus } from './task-row.js';
import { changeStatus, jobOfTask, type StatusChange } from './task-status.js';

/** The columns that `ordering` may name. */
export type TaskOrdering = 'id' | 'createdAt' | 'updatedAt' | 'priority' | 'status';

export interface TaskFilter extends AccessFilter {
  readonly ids?: readonly number[];
  readonly statuses?: readonly TaskStatus[];
  readonly kinds?: readonly TaskKind[];
  readonly targetObjectId?: number;
  readonly sourceObjectId?: number;
  readonly parentId?: number;
  readonly userIds?: readonly number[];
  /** Newest first if absent. */
  readonly ordering?: { readonly by: TaskOrdering; readonly isDescending: boolean };
}

/** The durable queue of tasks. Statuses follow `transitions` (task-row.ts) and change together with those of the jobs. */
export interface TaskTable {
  get(id: number): Promise<TaskRow | undefined>;
  /** The import, export or commit that the task runs; undefined if it was deleted. */
  job(task: Pick<TaskRow, 'kind' | 'resourceId'>): Promise<JobRow | undefined>;
  list(filter: TaskFilter, page: Page): Promise<Listed<TaskRow>>;
  /**
   * Starts the next queued task, by priority and then age, of an account with fewer than `runningPerAccount` running tasks: sets it
   * to `running` and increments its attempts. Undefined if there is none. `isInline` restricts it to imports whose records came
   * with the request, because their clients wait for the result.
   */
  takeNext(runningPerAccount?: number, isInline?: boolean): Promise<TaskRow | undefined>;
  /** Stores the progress of an attempt; does nothing if that attempt is over. */
  progress(id: number, attempt: number, progress: JsonObject): Promise<void>;
  /** Marks the attempt as publishing, after which it cannot be canceled. False if the attempt is over, for example canceled. */
  startPublishing(id: number, attempt: number): Promise<boolean>;
  complete(id: number, change?: StatusChange): Promise<TaskRow>;
  fail(id: number, errorMessage: string, change?: StatusChange): Promise<TaskRow>;
  /** Cancels a task and its unfinished children; returns them as they were before. Throws if the task is finished or publishing. */
  cancel(id: number): Promise<readonly TaskRow[]>;
  /** Returns a running task to the queue, or fails it after `maxAttempts`. With `isCounted` false, as after an orderly stop, the attempt is not counted. */
  requeue(id: number, options?: RequeueOptions): Promise<TaskRow>;
  /** Requeues all running tasks, as a restart does. */
  requeueRunning(options?: RequeueOptions): Promise<readonly TaskRow[]>;
}

export interface RequeueOptions {
  readonly maxAttempts?: number;
  readonly isCounted?: boolean;
}

/** Statements over tasks. */
export function taskTable(db: Database): TaskTable {
  const get = async (id: number): Promise<TaskRow | undefined> => {
    const row = await db.get(sql`SELECT ${tasks.columns} FROM tasks WHERE id = ${id}`);
    return row && tasks.parse(row);
  };
  const move = (id: number, to: TaskStatus, change: StatusChange): Promise<TaskRow> =>
    db.atomic(async (tx) => changeStatus(tx, await existing(tx, id), to, change));

  return {
    get,
    job: (task) => jobOfTask(db, task),
    list: async (filter, page) =>
      listPage(
        db,
        tasks,
        {
          from: sql`tasks JOIN objects ON objects.id = COALESCE(tasks.target_object_id, tasks.source_object_id)
            JOIN vaults ON vaults.id = objects.vault_id`,
          where: all(conditions(filter)),
          orderBy: orderOf(filter.ordering),
        },
        page,
      ),
    takeNext: (runningPerAccount = budgets.tasksRunningPerAccount, isInline = false) =>
      db.atomic(async (tx) => {
        const row = await tx.get(sql`SELECT ${tasks.columns} FROM tasks
          WHERE tasks.status = 'queued'
          AND (${isInline} = 0 OR tasks.kind = 'import' AND tasks.resource_id IN (
            SELECT imports.id FROM imports WHERE imports.source = 'data_records'))
          AND tasks.account_id NOT IN (
            SELECT running.account_id FROM tasks running WHERE running.status = 'running'
            GROUP BY running.account_id HAVING COUNT(*) >= ${runningPerAccount})
          ORDER BY tasks.priority, tasks.id LIMIT 1`);
        if (row === undefined) return undefined;
        const task = tasks.parse(row);
        return changeStatus(tx, task, 'running', { attempts: task.attempts + 1 });
      }),
    progress: (id, attempt, progress) =>
      db.atomic(async (tx) => {
        const task = await taskTable(tx).get(id);
        if (task === undefined || task.status !== 'running' || task.attempts !== attempt) return;
        const job = await jobOfTask(tx, task);
        if (job === undefined) return;
        const metadata = { ...job.metadata, progress };
        await tx.run(jobs[task.kind].update(job.id, { metadata, updatedAt: Date.now() })!);
      }),
    startPublishing: async (id, attempt) => {
      const changed = await db.run(sql`UPDATE tasks SET is_publishing = 1
        WHERE id = ${id} AND status = 'running' AND attempts = ${attempt}`);
      return changed === 1;
    },
    complete: (id, change = {}) => move(id, 'completed', change),
    fail: (id, errorMessage, change = {}) => move(id, 'failed', { ...change, errorMessage }),
    cancel: (id) =>
      db.atomic(async (tx) => {
        const task = await existing(tx, id);
        if (!isActive(task.status)) {
          throw invalid('status', `The task is ${task.status} and cannot be canceled.`);
        }
        if (task.isPublishing) {
          throw invalid('status', 'The result is being published; the task cannot be canceled.');
        }
        return cancelWithChildren(tx, task);
      }),
    requeue: (id, options = {}) =>
      db.atomic(async (tx) => requeueTask(tx, await existing(tx, id), options)),
    requeueRunning: (options = {}) =>
      db.atomic(async (tx) => {
        const rows = await tx.all(
          sql`SELECT ${tasks.columns} FROM tasks WHERE status = 'running' ORDER BY id`,
        );
        const changed: TaskRow[] = [];
        for (const row of rows) changed.push(await requeueTask(tx, tasks.parse(row), options));
        return changed;
      }),
  };
}

async function existing(tx: Database, id: number): Promise<TaskRow> {
  const task = await taskTable(tx).get(id);
  if (task === undefined) throw new Error(`there is no task ${id}`);
  return task;
}

async function cancelWithChildren(tx: Database, task: TaskRow): Promise<readonly TaskRow[]> {
  await changeStatus(tx, task, 'canceled');
  const rows = await tx.all(
    sql`SELECT ${tasks.columns} FROM tasks WHERE parent_id = ${task.id} ORDER BY id`,
  );
  const canceled = [task];
  for (const child of rows.map((row) => tasks.parse(row))) {
    if (isActive(child.status)) canceled.push(...(await cancelWithChildren(tx, child)));
  }
  return canceled;
}

function requeueTask(tx: Database, task: TaskRow, options: RequeueOptions): Promise<TaskRow> {
  const { maxAttempts = budgets.taskAttempts, isCounted = true } = options;
  const attempts = isCounted ? task.attempts : Math.max(0, task.attempts - 1);
  if (attempts < maxAttempts) return changeStatus(tx, task, 'queued', { attempts });
  const errorMessage = `given up after ${attempts} attempts, each of which ended with the worker's death`;
  return changeStatus(tx, task, 'failed', { errorMessage });
}

/** A user sees the tasks of their account whose objects they may read (contract 15.2). */
function conditions(filter: TaskFilter): Sql[] {
  const clauses: Sql[] = [mayAccess(filter.access)];
  if (filter.access !== null) clauses.push(sql`tasks.account_id = ${filter.access.accountId}`);
  if (filter.ids) clauses.push(isOneOf(sql`tasks.id`, filter.ids));
  if (filter.statuses) clauses.push(isOneOf(sql`tasks.status`, filter.statuses));
  if (filter.kinds) clauses.push(isOneOf(sql`tasks.kind`, filter.kinds));
  if (filter.targetObjectId !== undefined) {
    clauses.push(sql`tasks.target_object_id = ${filter.targetObjectId}`);
  }
  if (filter.sourceObjectId !== undefined) {
    clauses.push(sql`tasks.source_object_id = ${filter.sourceObjectId}`);
  }
  if (filter.parentId !== undefined) clauses.push(sql`tasks.parent_id = ${filter.parentId}`);
  if (filter.userIds) clauses.push(isOneOf(sql`tasks.user_id`, filter.userIds));
  return clauses;
}

const orderColumns: Readonly<Record<TaskOrdering, Sql>> = {
  id: sql`tasks.id`,
  createdAt: sql`tasks.created_at`,
  updatedAt: sql`tasks.updated_at`,
  priority: sql`tasks.priority`,
  status: sql`tasks.status`,
};

function orderOf(ordering: TaskFilter['ordering']): Sql {
  if (ordering === undefined) return sql`tasks.id DESC`;
  const column = orderColumns[ordering.by];
  return ordering.isDescending ? sql`${column} DESC, tasks.id DESC` : sql`${column}, tasks.id`;
}
