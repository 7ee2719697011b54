import { setTimeout as pause } from 'node:timers/promises';
import type { JsonObject } from '../../engine/core/types.js';
import type { Catalog } from '../../engine/catalog/catalog.js';
import type { TaskRow } from '../../engine/catalog/task-row.js';
import type { Config } from '../../engine/core/config.js';
import { crashpoint } from '../../engine/core/crashpoint.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import { removeTree } from '../../engine/core/files.js';
import { budgets } from '../../engine/core/budgets.js';
import { notFound, toErrorValue, type ErrorValue } from '../../engine/core/errors.js';
import type { Store } from '../../engine/store/store.js';
import type { FetchLimits } from '../fetch/limits.js';
import { Compactor } from '../jobs/merge/merge.js';
import { TableCache, type FileTables } from '../jobs/table/tables.js';
import { startHost, type Host } from '../worker/host.js';
import { spillFolder, type FromWorker, type ToWorker } from '../worker/messages.js';
import { reconcile } from './reconcile.js';
import { Running } from './running.js';
import {
  sweepAttempts,
  sweepExports,
  sweepObjects,
  sweepRejected,
  sweepScratch,
  sweepTask,
} from './sweep.js';
import type { PublishContext, RunnableKind, TaskMap } from '../jobs/job.js';
import { taskTypes } from '../jobs/index.js';
import { isTerminal, Waiters } from './waiting.js';

/** What the scheduler is made of; the rest are its habits, which tests change. */
export interface SchedulerOptions {
  readonly catalog: Catalog;
  readonly store: Store;
  readonly data: DataFolder;
  readonly config: Pick<Config, 'threads' | 'workerMemoryMb'> &
    Partial<Pick<Config, 'allowAddresses'>>;
  /** Where the operator reads what went wrong outside any task. */
  readonly report?: (message: string) => void;
  readonly now?: () => number;
  /** A worker that is silent for so long is killed. */
  readonly silenceMs?: number;
  /** How long a cancelled task may go on before its worker is killed. */
  readonly cancelMs?: number;
  /** How long `close` lets tasks finish. */
  readonly closeMs?: number;
  /** A dataset without commits for so long has fewer segments merged, too; never, if it is not finite. */
  readonly quietMs?: number;
  /** What a failing disk has stopped is tried again after so long. */
  readonly retryMs?: number;
  /** How far fetching from other hosts may go; the budgets unless given. */
  readonly fetchLimits?: Partial<FetchLimits>;
  /** Starts the worker; tests of faults run one in their own process. */
  readonly startHost?: typeof startHost;
}

/** What goes on at this moment. */
export interface Status {
  readonly workerPid: number | null;
  /** Tasks that are neither in the queue nor over. */
  readonly running: readonly number[];
  /** Those of them that the worker has. */
  readonly working: readonly number[];
}

/** Runs the tasks of the catalogue; one per data folder. */
export interface Scheduler {
  /** Brings catalogue, log and folders to order after whatever happened, then starts the worker and the queue. */
  start(): Promise<void>;
  /** A task has been queued. */
  wake(): void;
  /**
   * Cancels a task and returns it when nothing of it is left; `invalid` when it has ended or is being published. For one
   * that was deleted (with its dataset) it stops what runs and throws `not-found`.
   */
  cancel(taskId: number): Promise<TaskRow>;
  /** Resolves when the task has ended. */
  wait(taskId: number, signal?: AbortSignal): Promise<TaskRow>;
  status(): Status;
  /** Uploaded files as tables, which the worker makes beside its tasks. */
  readonly fileTables: FileTables;
  /** Resolves when no segments are being merged and none are to be. */
  compacted(): Promise<void>;
  /** Stops taking tasks, lets running ones finish for a while, and puts the rest back into the queue. */
  close(): Promise<void>;
}

const sweepMs = 3_600_000;

/** The scheduler of one data folder; nothing runs before `start`. */
export function createScheduler(options: SchedulerOptions): Scheduler {
  return new TaskScheduler(options);
}

/*
 * The catalogue decides, this class carries out. `tasks.cancel` and `tasks.startPublishing` exclude each other there, and
 * nothing of a task is visible before it publishes: so it ends canceled with nothing, or completed with everything. What
 * the worker says counts only for the attempt that `#running` holds.
 */
class TaskScheduler implements Scheduler {
  readonly #options: Required<SchedulerOptions>;
  readonly #running = new Map<number, Running>();
  readonly fileTables: TableCache;
  readonly #compactor: Compactor;
  readonly #waiters = new Waiters();
  #host: Host | null = null;
  #sweeper: NodeJS.Timeout | undefined;
  #isClosing = false;
  #isFilling = false;
  #isWoken = false;
  /** The worker was killed by us, so its other tasks are not to blame. */
  #isOwnKill = false;

  constructor(options: SchedulerOptions) {
    this.#options = {
      report: (message) => console.error(`strandlake: ${message}`),
      now: Date.now,
      silenceMs: 25_000,
      cancelMs: 800,
      closeMs: 4_000,
      quietMs: 5_000,
      retryMs: 1_000,
      fetchLimits: {},
      startHost,
      ...options,
    };
    const { data, config, report } = this.#options;
    const send = (message: ToWorker): void => this.#host?.send(message);
    this.fileTables = new TableCache({ data, parallel: config.threads, send, report });
    const persist = (work: () => Promise<void>): Promise<void> => this.#persist(work);
    const { catalog, store, quietMs } = this.#options;
    this.#compactor = new Compactor({ catalog, store, data, send, persist, report, quietMs });
  }

  async start(): Promise<void> {
    const { catalog, store, data, config, report, silenceMs, startHost } = this.#options;
    await reconcile(catalog, store, report);
    await catalog.tasks.requeueRunning();
    await sweepScratch(catalog, data);
    await sweepObjects(catalog, data);
    await sweepRejected(catalog, data);
    await this.fileTables.start();
    await store.sweep();
    await this.#sweepExports();
    this.#sweeper = setInterval(() => void this.#sweepExports(), sweepMs);
    this.#sweeper.unref();
    const { threads, workerMemoryMb: memoryMb, allowAddresses: allow = [] } = config;
    const fetching = { allow, limits: this.#options.fetchLimits };
    const aliveMs = Math.min(2_000, silenceMs / 5);
    const workerConfig = { dataFolder: data.root, threads, memoryMb, aliveMs, fetching };
    this.#host = startHost(workerConfig, silenceMs, {
      message: (message) => this.#hear(message),
      lost: (reason, pid) => this.#background(this.#lost(reason, pid)),
    });
    this.wake();
    this.#background(this.#compactor.lookAtAll());
  }

  wake(): void {
    if (this.#host === null || this.#isClosing) return;
    this.#isWoken = true;
    if (!this.#isFilling) this.#background(this.#fill());
  }

  async wait(taskId: number, signal?: AbortSignal): Promise<TaskRow> {
    // Listen first, look second: an end in between is not missed.
    const end = this.#waiters.wait(taskId, signal);
    const row = await this.#options.catalog.tasks.get(taskId);
    const isOver = row === undefined || isTerminal(row.status);
    if (isOver && !this.#running.has(taskId)) this.#waiters.tell(taskId, row);
    return end;
  }

  async cancel(taskId: number): Promise<TaskRow> {
    const { tasks } = this.#options.catalog;
    const before = await tasks.get(taskId);
    if (before !== undefined) await tasks.cancel(taskId);
    const running = this.#running.get(taskId);
    if (running !== undefined) {
      this.#stop(running, 'cancel');
      await running.over.promise;
    } else if (before !== undefined) {
      await this.#discard(before);
    }
    const row = await tasks.get(taskId);
    this.#waiters.tell(taskId, row);
    if (row === undefined) throw notFound();
    return row;
  }

  status(): Status {
    const running = [...this.#running.values()];
    const working = running.filter(({ phase }) => phase === 'working');
    return {
      workerPid: this.#host?.pid ?? null,
      running: running.map(({ task }) => task.id),
      working: working.map(({ task }) => task.id),
    };
  }

  compacted(): Promise<void> {
    return this.#compactor.idle();
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#compactor.close();
    clearInterval(this.#sweeper);
    const overs = (): Promise<unknown> =>
      Promise.all([...this.#running.values()].map((running) => running.over.promise));
    await Promise.race([overs(), pause(this.#options.closeMs, undefined, { ref: false })]);
    for (const running of this.#running.values()) this.#stop(running, 'return');
    // A worker that does not let go within `cancelMs` is killed; that takes a moment too.
    await Promise.race([overs(), pause(this.#options.cancelMs + 2_000, undefined, { ref: false })]);
    await this.#host?.close();
    this.#host = null;
  }

  /** Takes queued tasks until all places are taken or nothing is queued. */
  async #fill(): Promise<void> {
    this.#isFilling = true;
    try {
      while (this.#isWoken && !this.#isClosing) {
        this.#isWoken = false;
        const taken = (await this.#take(false)) ?? (await this.#take(true));
        if (taken === undefined) continue;
        this.#isWoken = true;
        this.#background(this.#prepare(taken));
      }
    } catch (error) {
      this.#isWoken = false;
      this.#options.report(`the queue cannot be read: ${toErrorValue(error).message}`);
      setTimeout(() => this.wake(), this.#options.retryMs).unref();
    } finally {
      this.#isFilling = false;
    }
    if (this.#isWoken) this.wake();
  }

  async #take(isInline: boolean): Promise<Running | undefined> {
    const { catalog, config } = this.#options;
    const taken = [...this.#running.values()].filter((other) => other.isInline === isInline);
    if (taken.length >= config.threads) return undefined;
    // Small imports go past the account's share as well: whoever waits for one has no other task in mind.
    const share = isInline ? Infinity : budgets.tasksRunningPerAccount;
    const task = await catalog.tasks.takeNext(share, isInline);
    if (task === undefined) return undefined;
    const running = new Running(task, isInline);
    this.#running.set(task.id, running);
    return running;
  }

  async #prepare(running: Running): Promise<void> {
    const { task, attempt } = running;
    const kind = task.kind as RunnableKind;
    try {
      const params = await taskTypes[kind].prepare(task, this.#context(running));
      // It may have been canceled before this process knew that it runs.
      const row = await this.#options.catalog.tasks.get(task.id);
      if (row?.status !== 'running') running.stopping = 'cancel';
      if (running.stopping !== null) return await this.#stopped(running);
      running.work();
      const { id: taskId, accountId } = task;
      this.#host?.send({ type: 'run', taskId, attempt, kind, params, accountId });
    } catch (error) {
      await this.#fail(running, toErrorValue(error), null);
    }
  }

  #hear(message: FromWorker): void {
    if (message.type === 'alive') return;
    if (message.type === 'table') return this.fileTables.hear(message);
    if (message.type === 'compacted') return this.#compactor.hear(message);
    const running = this.#running.get(message.taskId);
    // An answer of an earlier attempt, or of a task that has been dealt with, comes too late.
    if (running?.attempt !== message.attempt || running.phase !== 'working') return;
    if (message.type === 'progress') {
      const { tasks } = this.#options.catalog;
      running.note(message.progress, (shown) =>
        tasks.progress(message.taskId, message.attempt, shown),
      );
    } else if (running.stopping !== null) this.#background(this.#stopped(running));
    else if (message.type === 'done') this.#background(this.#publish(running, message.result));
    else this.#background(this.#fail(running, message.error, message.metadata));
  }

  async #publish(running: Running, result: unknown): Promise<void> {
    await running.leaveWork('publishing');
    const { task, attempt } = running;
    try {
      if (!(await this.#options.catalog.tasks.startPublishing(task.id, attempt))) {
        running.stopping = 'cancel'; // canceled or deleted while the result was on its way
        return await this.#stopped(running);
      }
      const type = taskTypes[task.kind as RunnableKind];
      // The result is of the kind that was sent: the attempt number says so.
      const publish = type.publish as (
        task: TaskRow,
        result: TaskMap[RunnableKind]['result'],
        context: PublishContext,
      ) => Promise<'published' | 'run again'>;
      const outcome = await publish(task, result as never, this.#context(running));
      if (outcome === 'run again') return await this.#requeue(running, false);
      if (task.kind === 'import') this.#compactor.look(task.targetObjectId!);
      crashpoint('task.before-done');
      await this.#over(running);
    } catch (error) {
      await this.#fail(running, toErrorValue(error), null);
    }
  }

  /** Asks for a stop; `over` tells when it has happened, or the task has ended otherwise. */
  #stop(running: Running, why: 'cancel' | 'return'): void {
    if (running.phase === 'publishing' || running.phase === 'ended') return;
    const isAsked = running.stopping !== null;
    if (running.stopping !== 'cancel') running.stopping = why;
    if (isAsked || running.phase !== 'working') return;
    this.#host?.send({ type: 'cancel', taskId: running.task.id });
    setTimeout(() => {
      if (running.phase !== 'working') return;
      this.#isOwnKill = this.#host?.kill() ?? false;
    }, this.#options.cancelMs).unref();
  }

  /** The worker has let go of a task that was to stop. */
  async #stopped(running: Running): Promise<void> {
    if (running.stopping === 'return') return this.#requeue(running, false);
    await running.leaveWork('ended');
    await this.#persist(() => this.#discard(running.task));
    await this.#over(running);
  }

  async #fail(running: Running, error: ErrorValue, metadata: JsonObject | null): Promise<void> {
    await running.leaveWork('ended');
    const { id } = running.task;
    const { tasks } = this.#options.catalog;
    const progress = { ...running.progress, ...(metadata?.['progress'] as JsonObject | undefined) };
    await this.#persist(async () => {
      // Canceled or deleted meanwhile: then that is how it ended.
      if ((await tasks.get(id))?.status !== 'running') return this.#discard(running.task);
      const { data } = this.#options;
      const type = taskTypes[running.task.kind as RunnableKind];
      if (type.keep === undefined) await this.#discard(running.task);
      else await type.keep(running.task, running.attempt, data);
      await sweepTask(data, running.task);
      await tasks.fail(id, error.message, { metadata: { ...metadata, progress } });
    });
    await this.#over(running);
  }

  /** The worker process died: what it ran is tried again, unless it may be what killed it. */
  async #lost(reason: string, pid: number | undefined): Promise<void> {
    const { data, report } = this.#options;
    const isOwnKill = this.#isOwnKill;
    this.#isOwnKill = false;
    const lost = [...this.#running.values()].filter(({ phase }) => phase === 'working');
    this.fileTables.lost();
    this.#compactor.lost();
    if (!isOwnKill) report(`the worker process ended (${reason}); starting another`);
    await Promise.all(
      lost.map((running) =>
        running.stopping === null
          ? this.#requeue(running, !isOwnKill, reason)
          : this.#stopped(running),
      ),
    );
    if (pid !== undefined) await removeTree(spillFolder(data, pid));
  }

  /** Back into the queue; a counted attempt that was the last one makes the task fail as poison. */
  async #requeue(running: Running, isCounted: boolean, reason = ''): Promise<void> {
    const { catalog, data } = this.#options;
    const { task, attempt } = running;
    if (isCounted && attempt >= budgets.taskAttempts) {
      const message = `the worker process ended ${attempt} times while it ran this task (the last time: ${reason}); it is not tried again`;
      return this.#fail(running, { code: 'internal', message }, null);
    }
    await running.leaveWork('ended');
    await this.#persist(async () => {
      if (task.kind !== 'import') await sweepAttempts(data, task); // an import goes on where it was
      if ((await catalog.tasks.get(task.id))?.status !== 'running') return this.#discard(task);
      await catalog.tasks.requeue(task.id, { isCounted });
    });
    const row = await catalog.tasks.get(task.id);
    this.#leave(running);
    if (row === undefined || isTerminal(row.status)) this.#waiters.tell(task.id, row);
  }

  /** The task has ended, and its row says so. */
  async #over(running: Running): Promise<void> {
    running.phase = 'ended';
    const { catalog, data } = this.#options;
    // The end does not wait for it: a full disk may refuse even this for a while.
    const isSwept = await sweepTask(data, running.task).then(
      () => true,
      () => false,
    );
    if (!isSwept) this.#background(this.#persist(() => sweepTask(data, running.task)));
    let row: TaskRow | undefined;
    await this.#persist(async () => {
      row = await catalog.tasks.get(running.task.id);
    });
    this.#leave(running);
    this.#waiters.tell(running.task.id, row);
  }

  #leave(running: Running): void {
    this.#running.delete(running.task.id);
    running.over.resolve();
    this.wake();
  }

  /** Removes all files of a task that will not complete. */
  async #discard(task: TaskRow): Promise<void> {
    await sweepTask(this.#options.data, task);
    await taskTypes[task.kind as RunnableKind]?.discard(task, this.#options.data);
  }

  /** Repeats work that only a full or failing disk can stop, until it succeeds: an end must not be lost. */
  async #persist(work: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        // What was deleted meanwhile does not come back.
        if ((error as { code?: unknown }).code === 'not-found') throw error;
        this.#options.report(`will be tried again: ${toErrorValue(error).message}`);
        if (this.#isClosing) return;
        await pause(this.#options.retryMs);
      }
    }
  }

  /** Nobody waits for this work, so nobody else hears of its failure. */
  #background(work: Promise<void>): void {
    work.catch((error: unknown) => this.#options.report(toErrorValue(error).message));
  }

  async #sweepExports(): Promise<void> {
    const { catalog, data, now, report } = this.#options;
    await sweepExports(catalog, data, now()).catch((error: unknown) => report(String(error)));
    await catalog.idempotencyKeys.sweep(now()).catch((error: unknown) => report(String(error)));
  }

  #context(running: Running): PublishContext {
    const { catalog, store, data, now } = this.#options;
    const { attempt, progress } = running;
    const persist = (work: () => Promise<void>): Promise<void> => this.#persist(work);
    return { catalog, store, data, attempt, progress, persist, now };
  }
}
