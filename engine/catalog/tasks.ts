import { budgets } from '../core/budgets.js';
import { invalidError, notFoundError } from '../core/errors.js';
import type { JsonObject } from '../core/types.js';
import { changeAvailability } from './archive-status.js';
import type { Database } from './database.js';
import { nextLargeId } from './ids.js';
import { personalKinds, type StatusRow } from './jobs.js';
import { listPage, type AccessFilter, type ListedRows, type Page } from './list-page.js';
import { mayAccess } from './permission.js';
import { conjunctionOf, isOneOf, sql, type Sql } from './sql.js';
import type { RawRow } from './table-codec.js';
import {
  activeStatuses,
  isActiveStatus,
  isActiveTask,
  tasks,
  type TaskClass,
  type TaskRow,
  type TaskStatus,
} from './task-row.js';
import {
  changeStatus,
  jobCodecOf,
  readJobOfTask,
  requireQueueCapacity,
  type StatusChange,
} from './task-status.js';

/** The columns that `ordering` may name. */
export type TaskOrdering = 'id' | 'createdAt' | 'updatedAt' | 'priority' | 'status';

export interface TaskFilter extends AccessFilter {
  readonly ids?: readonly number[];
  readonly statuses?: readonly TaskStatus[];
  readonly kinds?: readonly string[];
  /** The classes to list; interactive and standard by default. */
  readonly classes?: readonly TaskClass[];
  readonly targetObjectIds?: readonly number[];
  readonly sourceObjectIds?: readonly number[];
  readonly parentIds?: readonly number[];
  readonly userIds?: readonly number[];
  /** The order of the list; newest first by default. */
  readonly ordering?: { readonly by: TaskOrdering; readonly isDescending: boolean };
}

/**
 * The durable queue of tasks. Statuses follow `allowedTransitions` (task-row.ts) and change together with those of the jobs. A method that
 * changes a status throws `not-found` if the task was deleted, and `TransitionError` (`cancel`: `invalid`) if the task has meanwhile ended
 * in another way.
 */
interface TaskTable {
  get(id: number): Promise<TaskRow | undefined>;
  /** The resource that the task runs; undefined if it was deleted or the kind has no resource. */
  job(task: Pick<TaskRow, 'kind' | 'resourceId'>): Promise<StatusRow | undefined>;
  list(filter: TaskFilter, page: Page): Promise<ListedRows<TaskRow>>;
  /**
   * Marks the next queued task as running, increments its number of attempts, and returns it; undefined if there is none. Tasks are ordered
   * by priority, then by age. Tasks of `idleKinds` wait until all earlier tasks on their target have ended and none is running, apart from
   * standalone tasks that only read (`isReader`). Tasks of `exclusiveIds` come first, however many tasks of their account are
   * running; while one of them is running, no other task on its target begins, apart from background tasks.
   */
  claim(options?: ClaimOptions): Promise<TaskRow | undefined>;
  /**
   * Adds a task whose kind has no resource. One that is not listed replaces the finished tasks of the same kind and object, so that only the
   * last is kept. Throws `not-found` if the object does not exist, and `budget` if the task is listed and the queue of its account is full.
   */
  addStandalone(task: StandaloneTask): Promise<TaskRow>;
  /** The unfinished task of a kind on an object; undefined if there is none. */
  openTask(kind: string, objectId: number): Promise<TaskRow | undefined>;
  /** The running tasks of all kinds that read or change an object. */
  runningOn(objectId: number): Promise<readonly TaskRow[]>;
  /** The number of tasks by kind, class and status, of all accounts. */
  counts(): Promise<readonly TaskCount[]>;
  /** Removes all unfinished background tasks of these kinds. */
  removeOpen(kinds: readonly string[]): Promise<void>;
  /**
   * Shows the progress of the current attempt in the metadata of the job; has no effect if the attempt is over or the kind has no resource.
   */
  progress(id: number, attempt: number, progress: JsonObject): Promise<void>;
  /**
   * Marks the attempt as publishing, after which it cannot be canceled. Returns false if the attempt is over, for example because it was
   * canceled.
   */
  startPublishing(id: number, attempt: number): Promise<boolean>;
  complete(id: number, change?: StatusChange): Promise<TaskRow>;
  fail(id: number, errorMessage: string, change?: StatusChange): Promise<TaskRow>;
  /**
   * Cancels a task and its unfinished children; returns their rows before the change. `change` is that of the task alone. Throws if the
   * task is finished or publishing.
   */
  cancel(id: number, change?: StatusChange): Promise<readonly TaskRow[]>;
  /** Returns a running task to the queue. With `isCounted` false, as after an orderly stop, the attempt is not counted. */
  requeue(id: number, options?: RequeueOptions): Promise<TaskRow>;
  /** Requeues all running tasks after a restart, regardless of their number of attempts. */
  requeueRunning(): Promise<readonly TaskRow[]>;
}

/** The number of tasks of a kind (such as import) and class (`interactive`, `standard` or `background`) that have a status. */
interface TaskCount {
  readonly kind: string;
  readonly class: TaskClass;
  readonly status: TaskStatus;
  readonly count: number;
}

interface ClaimOptions {
  /** The classes of which a task is claimed; interactive and standard by default. */
  readonly classes?: readonly TaskClass[];
  /** An account with this many running tasks, not counting background tasks, has to wait. */
  readonly runningPerAccount?: number;
  readonly exceptKinds?: readonly string[];
  /** Kinds whose tasks may work on unavailable datasets, too. */
  readonly kindsOnUnavailable?: readonly string[];
  /** Kinds whose tasks begin only when no other task works on their target, apart from standalone tasks that only read (`isReader`). */
  readonly idleKinds?: readonly string[];
  /** Tasks that come first, and beside which no other task on their target begins. */
  readonly exclusiveIds?: readonly number[];
  /** The ids of which one is claimed; by default any. */
  readonly ids?: readonly number[];
}

/** A task whose kind has no resource. It belongs to the owner of its object, unless `userId` names another user. */
export interface StandaloneTask {
  readonly kind: string;
  readonly description: string;
  readonly priority: number;
  readonly params: JsonObject;
  /** The object that the task changes; at least one of target and source is set. */
  readonly targetObjectId: number | null;
  readonly sourceObjectId: number | null;
  /** The user whose rights the task has; by default the owner of its object. */
  readonly userId?: number | undefined;
  /** Whether the task begins at once, without waiting in the queue. */
  readonly isStarted: boolean;
  /** Whether users see the task: it has the class `standard` instead of `background`, and is kept with its result. */
  readonly isListed?: boolean;
}

interface RequeueOptions {
  readonly isCounted?: boolean;
}

/** Returns access to the table of tasks. */
export function taskTable(db: Database): TaskTable {
  const get = async (id: number): Promise<TaskRow | undefined> => {
    const row = await db.get(sql`SELECT ${tasks.columns} FROM tasks WHERE id = ${id}`);
    return row && tasks.parse(row);
  };
  const move = (id: number, to: TaskStatus, change: StatusChange): Promise<TaskRow> =>
    db.atomic(async (tx) => changeStatus(tx, await requireTask(tx, id), to, change));

  return {
    get,
    job: (task) => readJobOfTask(db, task),
    list: async (filter, page) =>
      listPage(
        db,
        tasks,
        {
          from: sql`tasks LEFT JOIN objects ON objects.id = COALESCE(tasks.target_object_id, tasks.source_object_id)
            LEFT JOIN vaults ON vaults.id = objects.vault_id`,
          where: conjunctionOf(taskConditions(filter)),
          orderBy: orderOf(filter.ordering),
        },
        page,
      ),
    claim: ({
      classes = defaultClasses,
      runningPerAccount = budgets.tasksRunningPerAccount,
      exceptKinds = [],
      kindsOnUnavailable = [],
      idleKinds = [],
      exclusiveIds = [],
      ids,
    } = {}) =>
      db.atomic(async (tx) => {
        const nextTask = (condition: Sql): Promise<RawRow | undefined> =>
          tx.get(sql`SELECT ${tasks.columns} FROM tasks
          WHERE tasks.status = 'queued'
          AND ${isOneOf(sql`tasks.class`, classes)}
          AND NOT ${isOneOf(sql`tasks.kind`, exceptKinds)}
          AND ${ids === undefined ? sql`1 = 1` : isOneOf(sql`tasks.id`, ids)}
          AND (${isOneOf(sql`tasks.kind`, kindsOnUnavailable)} OR NOT EXISTS (
            SELECT 1 FROM datasets WHERE datasets.availability = 'unavailable'
            AND datasets.id IN (tasks.target_object_id, tasks.source_object_id)))
          AND NOT (${isOneOf(sql`tasks.kind`, idleKinds)} AND EXISTS (
            SELECT 1 FROM tasks other WHERE other.id <> tasks.id
            AND (other.status = 'running' OR other.id < tasks.id)
            AND NOT ${isReader(sql`other`)}
            AND ${isActiveOnObject(sql`other`, sql`tasks.target_object_id`)}))
          AND NOT ${waitsForExclusiveTask(exclusiveIds)}
          AND ${condition} ORDER BY tasks.priority, tasks.id LIMIT 1`);
        const isExclusive = isOneOf(sql`+tasks.id`, exclusiveIds); // with the plus sign, SQLite does not read them by id and sort them
        const hasShare = sql`tasks.account_id NOT IN (
          SELECT running.account_id FROM tasks running
          WHERE running.status = 'running' AND running.class <> 'background'
          GROUP BY running.account_id HAVING COUNT(*) >= ${runningPerAccount})`;
        const exclusiveRow = exclusiveIds.length > 0 ? await nextTask(isExclusive) : undefined;
        const row = exclusiveRow ?? (await nextTask(hasShare));
        if (row === undefined) return undefined;
        const task = tasks.parse(row);
        return changeStatus(tx, task, 'running', { attempts: task.attempts + 1 });
      }),
    addStandalone: ({ isStarted, isListed = false, userId, ...task }) =>
      db.atomic(async (tx) => {
        const objectId = task.targetObjectId ?? task.sourceObjectId;
        const owner =
          await tx.get(sql`SELECT objects.user_id AS "userId", vaults.account_id AS "accountId"
          FROM objects JOIN vaults ON vaults.id = objects.vault_id WHERE objects.id = ${objectId}`);
        if (owner === undefined) throw notFoundError(); // the object was deleted meanwhile
        const taskUserId = userId ?? (owner['userId'] as number);
        const payer = isListed
          ? (await tx.get(
              sql`SELECT account_id AS "accountId" FROM users WHERE id = ${taskUserId}`,
            ))!
          : owner;
        const accountId = payer['accountId'] as number;
        if (isListed) await requireQueueCapacity(tx, accountId);
        else {
          await tx.run(sql`DELETE FROM tasks WHERE ${isOfKind(task.kind)} AND NOT ${isActiveTask(sql`tasks`)}
            AND ${isOnObject(sql`tasks`, sql`${objectId}`, sql`tasks.class = 'background'`)}`);
        }
        const id = await nextLargeId(tx);
        const now = Date.now();
        const row: TaskRow = {
          ...task,
          id,
          class: isListed ? 'standard' : 'background',
          resourceId: id,
          status: isStarted ? 'running' : 'queued',
          attempts: isStarted ? 1 : 0,
          parentId: null,
          userId: taskUserId,
          accountId,
          cancelRequested: false,
          isPublishing: false,
          errorMessage: null,
          result: null,
          createdAt: now,
          updatedAt: now,
        };
        await tx.run(tasks.insert(row));
        return row;
      }),
    openTask: async (kind, objectId) => {
      const row = await db.get(sql`SELECT ${tasks.columns} FROM tasks
        WHERE ${isOfKind(kind)} AND ${isActiveOnObject(sql`tasks`, sql`${objectId}`)}`);
      return row && tasks.parse(row);
    },
    runningOn: async (objectId) => {
      const rows = await db.all(sql`SELECT ${tasks.columns} FROM tasks
        WHERE status = 'running' AND ${isActiveOnObject(sql`tasks`, sql`${objectId}`)}`);
      return rows.map((row) => tasks.parse(row));
    },
    counts: async () => {
      const rows = await db.all(sql`SELECT kind, class, status, SUM(count) AS count FROM task_counts
        GROUP BY kind, class, status HAVING SUM(count) > 0 ORDER BY kind, class, status`);
      return rows as unknown as readonly TaskCount[];
    },
    removeOpen: async (kinds) => {
      await db.run(sql`DELETE FROM tasks
        WHERE class = 'background' AND ${isOneOf(sql`kind`, kinds)}
        AND ${isOneOf(sql`status`, activeStatuses)}`);
    },
    progress: (id, attempt, progress) =>
      db.atomic(async (tx) => {
        const task = await taskTable(tx).get(id);
        if (task === undefined || task.status !== 'running' || task.attempts !== attempt) return;
        const job = await readJobOfTask(tx, task);
        if (job === undefined) return;
        const metadata = { ...job.metadata, progress };
        const change = { metadata, updatedAt: Date.now() };
        await tx.run(jobCodecOf(task.kind)!.update(job.id, change)!);
      }, 'unflushed'),
    startPublishing: async (id, attempt) => {
      const changedCount = await db.run(sql`UPDATE tasks SET is_publishing = 1
        WHERE id = ${id} AND status = 'running' AND attempts = ${attempt}`);
      return changedCount === 1;
    },
    complete: (id, change = {}) => move(id, 'completed', change),
    fail: (id, errorMessage, change = {}) => move(id, 'failed', { ...change, errorMessage }),
    cancel: (id, change = {}) =>
      db.atomic(async (tx) => {
        const task = await requireTask(tx, id);
        if (!isActiveStatus(task.status)) {
          throw invalidError('status', `The task is ${task.status} and cannot be canceled.`);
        }
        if (task.isPublishing) {
          throw invalidError(
            'status',
            'The result is being published; the task cannot be canceled.',
          );
        }
        return cancelWithChildren(tx, task, change);
      }),
    requeue: (id, options = {}) =>
      db.atomic(async (tx) => {
        const task = await requeueTask(tx, await requireTask(tx, id), options);
        await changeAvailability(tx, task, 'queued');
        return task;
      }),
    requeueRunning: () =>
      db.atomic(async (tx) => {
        const rows = await tx.all(
          sql`SELECT ${tasks.columns} FROM tasks WHERE status = 'running' ORDER BY id`,
        );
        const requeuedTasks: TaskRow[] = [];
        for (const row of rows) requeuedTasks.push(await requeueTask(tx, tasks.parse(row), {}));
        return requeuedTasks;
      }),
  };
}

/** The classes of tasks that are listed and claimed if the caller names none. */
const defaultClasses: readonly TaskClass[] = ['interactive', 'standard'];

/** The condition that a task has this kind; the plus sign prevents that SQLite reads all tasks of the kind by their index. */
function isOfKind(kind: string): Sql {
  return sql`+tasks.kind = ${kind}`;
}

/** The condition that a task in `table` reads or changes an object and is active. */
function isActiveOnObject(table: Sql, objectId: Sql): Sql {
  return isOnObject(table, objectId, isActiveTask(table));
}

/**
 * The condition that a task in `table` reads or changes an object and is active or in the background, as `condition` says. It stands in
 * both alternatives, because SQLite chooses an index for each of them alone.
 */
function isOnObject(table: Sql, objectId: Sql, condition: Sql): Sql {
  return sql`((${table}.target_object_id = ${objectId} AND ${condition})
    OR (${table}.source_object_id = ${objectId} AND ${condition}))`;
}

/**
 * The condition that a task in `table` is standalone and only reads an object: it verifies the object, say, or makes a table of a file or of
 * computed fields for a query. Users who may only read can queue any number of such tasks, so no archiving or restore waits for them. The
 * files may be moved meanwhile: a verification then runs again, and a query reads on from the files in their old place, which are kept as
 * long as the longest query may take (`dropAfterMs` of the store).
 */
function isReader(table: Sql): Sql {
  return sql`(${table}.params IS NOT NULL AND ${table}.target_object_id IS NULL)`;
}

/** The condition that a task has to wait because an exclusive task is running on its target. */
function waitsForExclusiveTask(exclusiveIds: readonly number[]): Sql {
  if (exclusiveIds.length === 0) return sql`(1 = 0)`;
  return sql`(tasks.class <> 'background' AND EXISTS (SELECT 1 FROM tasks other WHERE ${isOneOf(sql`other.id`, exclusiveIds)}
    AND other.status = 'running' AND other.target_object_id = tasks.target_object_id))`;
}

async function requireTask(tx: Database, id: number): Promise<TaskRow> {
  const task = await taskTable(tx).get(id);
  if (task === undefined) throw notFoundError(); // the task was deleted meanwhile
  return task;
}

async function cancelWithChildren(
  tx: Database,
  task: TaskRow,
  change: StatusChange = {},
): Promise<readonly TaskRow[]> {
  await changeStatus(tx, task, 'canceled', change);
  const rows = await tx.all(
    sql`SELECT ${tasks.columns} FROM tasks WHERE parent_id = ${task.id} ORDER BY id`,
  );
  const canceled = [task];
  for (const child of rows.map((row) => tasks.parse(row))) {
    if (isActiveStatus(child.status)) canceled.push(...(await cancelWithChildren(tx, child)));
  }
  return canceled;
}

function requeueTask(tx: Database, task: TaskRow, options: RequeueOptions): Promise<TaskRow> {
  const { isCounted = true } = options;
  const attempts = isCounted ? task.attempts : Math.max(0, task.attempts - 1);
  return changeStatus(tx, task, 'queued', { attempts });
}

/** A user sees the tasks of their account whose objects they may read (contract 15.2), and those of `personalKinds` that they created. */
function taskConditions(filter: TaskFilter): Sql[] {
  const { viewer } = filter;
  const conditions: Sql[] = [
    sql`CASE WHEN ${isOneOf(sql`tasks.kind`, personalKinds)} THEN ${viewer === null ? sql`1 = 1` : sql`tasks.user_id = ${viewer.userId}`}
      ELSE vaults.id IS NOT NULL AND ${mayAccess(viewer)} END`,
  ];
  if (filter.viewer !== null) conditions.push(sql`tasks.account_id = ${filter.viewer.accountId}`);
  conditions.push(isOneOf(sql`tasks.class`, filter.classes ?? defaultClasses));
  if (filter.ids) conditions.push(isOneOf(sql`tasks.id`, filter.ids));
  if (filter.statuses) {
    conditions.push(isOneOf(sql`tasks.status`, filter.statuses));
    if (filter.statuses.every(isActiveStatus)) conditions.push(isActiveTask(sql`tasks`));
  }
  if (filter.kinds) conditions.push(isOneOf(sql`tasks.kind`, filter.kinds));
  if (filter.targetObjectIds) {
    conditions.push(isOneOf(sql`tasks.target_object_id`, filter.targetObjectIds));
  }
  if (filter.sourceObjectIds) {
    conditions.push(isOneOf(sql`tasks.source_object_id`, filter.sourceObjectIds));
  }
  if (filter.parentIds) conditions.push(isOneOf(sql`tasks.parent_id`, filter.parentIds));
  if (filter.userIds) conditions.push(isOneOf(sql`tasks.user_id`, filter.userIds));
  return conditions;
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
