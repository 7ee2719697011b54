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
export const taskOrderings = ['id', 'createdAt', 'updatedAt', 'priority', 'status'] as const;
export type TaskOrdering = (typeof taskOrderings)[number];

export interface TaskFilter extends AccessFilter {
  readonly ids?: readonly number[];
  readonly statuses?: readonly TaskStatus[];
  readonly kinds?: readonly TaskKind[];
  readonly targetObjectId?: number;
  readonly sourceObjectId?: number;
  readonly parentId?: number;
  readonly userIds?: readonly number[];
  /** Newest first unless given. */
  readonly ordering?: { readonly by: TaskOrdering; readonly isDescending: boolean };
}

/** The durable queue. Statuses change only along `transitions` (task-row.ts), and always together with the job's own. */
export interface TaskTable {
  get(id: number): Promise<TaskRow | undefined>;
  /** The import, export or commit behind it; undefined if deleted. */
  job(task: Pick<TaskRow, 'kind' | 'resourceId'>): Promise<JobRow | undefined>;
  list(filter: TaskFilter, page: Page): Promise<Listed<TaskRow>>;
  /**
   * Takes the next task in the queue, by priority and then age, from an account that has fewer than its share running, and
   * marks it running with one attempt more. Undefined if there is none. `isInline` looks only at imports whose records came
   * with their request: somebody waits for the answer.
   */
  takeNext(runningPerAccount?: number, isInline?: boolean): Promise<TaskRow | undefined>;
  /** Shows how far the current attempt is; nothing happens if that attempt is over. */
  progress(id: number, attempt: number, progress: JsonObject): Promise<void>;
  /** False if the attempt is over (canceled, say); true from when on it can no longer be canceled. */
  startPublishing(id: number, attempt: number): Promise<boolean>;
  complete(id: number, change?: StatusChange): Promise<TaskRow>;
  fail(id: number, errorMessage: string, change?: StatusChange): Promise<TaskRow>;
  /** Cancels it and what it started; returns all that changed, as they were before. An error if it is over. */
  cancel(id: number): Promise<readonly TaskRow[]>;
  /** Puts a running task back, or fails it as poison once it was tried often enough. An orderly stop does not count. */
  requeue(id: number, options?: RequeueOptions): Promise<TaskRow>;
  /** What a restart does with the tasks that were running. */
  requeueRunning(options?: RequeueOptions): Promise<readonly TaskRow[]>;
}

export interface RequeueOptions {
  readonly maxAttempts?: number;
  readonly isCounted?: boolean;
}

/** The tasks of a catalogue. */
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
      db.atomic(async (tx) => putBack(tx, await existing(tx, id), options)),
    requeueRunning: (options = {}) =>
      db.atomic(async (tx) => {
        const rows = await tx.all(
          sql`SELECT ${tasks.columns} FROM tasks WHERE status = 'running' ORDER BY id`,
        );
        const changed: TaskRow[] = [];
        for (const row of rows) changed.push(await putBack(tx, tasks.parse(row), options));
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

function putBack(tx: Database, task: TaskRow, options: RequeueOptions): Promise<TaskRow> {
  const { maxAttempts = budgets.taskAttempts, isCounted = true } = options;
  const attempts = isCounted ? task.attempts : Math.max(0, task.attempts - 1);
  if (attempts < maxAttempts) return changeStatus(tx, task, 'queued', { attempts });
  const errorMessage = `given up after ${attempts} attempts, each of which ended with the worker's death`;
  return changeStatus(tx, task, 'failed', { errorMessage });
}

/** Visible are the account's tasks on what the user may read (contract 15.2). */
function conditions(filter: TaskFilter): Sql[] {
  const found: Sql[] = [mayAccess(filter.access)];
  if (filter.access !== null) found.push(sql`tasks.account_id = ${filter.access.accountId}`);
  if (filter.ids) found.push(isOneOf(sql`tasks.id`, filter.ids));
  if (filter.statuses) found.push(isOneOf(sql`tasks.status`, filter.statuses));
  if (filter.kinds) found.push(isOneOf(sql`tasks.kind`, filter.kinds));
  if (filter.targetObjectId !== undefined) {
    found.push(sql`tasks.target_object_id = ${filter.targetObjectId}`);
  }
  if (filter.sourceObjectId !== undefined) {
    found.push(sql`tasks.source_object_id = ${filter.sourceObjectId}`);
  }
  if (filter.parentId !== undefined) found.push(sql`tasks.parent_id = ${filter.parentId}`);
  if (filter.userIds) found.push(isOneOf(sql`tasks.user_id`, filter.userIds));
  return found;
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
