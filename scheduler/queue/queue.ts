import { setTimeout as pause } from 'node:timers/promises';
import type { Catalog } from '../../engine/catalog/catalog.js';
import type { BackgroundTask } from '../../engine/catalog/tasks.js';
import type { TaskRow } from '../../engine/catalog/task-row.js';
import { budgets } from '../../engine/core/budgets.js';
import { crashpoint } from '../../engine/core/crashpoint.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import {
  AppError,
  canceled,
  fromErrorValue,
  notFound,
  toErrorValue,
  type ErrorValue,
} from '../../engine/core/errors.js';
import type { JsonObject } from '../../engine/core/types.js';
import type { Store } from '../../engine/store/store.js';
import { jobOf, type JobKind, type Jobs, type ResultOf } from '../jobs/index.js';
import type { Job, PublishContext } from '../jobs/job.js';
import type { FromWorker, ToWorker } from '../worker/messages.js';
import { Running, type Slot } from './running.js';
import { sweepAttempts } from './sweep.js';
import { isTerminal, Waiters } from './waiting.js';

/** What the queue works with. */
export interface QueueOptions {
  readonly jobs: Jobs;
  readonly catalog: Catalog;
  readonly store: Store;
  readonly data: DataFolder;
  readonly threads: number;
  /** How long a canceled task may go on before its worker is killed. */
  readonly cancelMs: number;
  /** Pause before what a failing disk has stopped is tried again. */
  readonly retryMs: number;
  send(message: ToWorker): void;
  /** Kills the worker process; false if there is none at the moment. */
  killWorker(): boolean;
  /** A task has committed to a dataset. */
  committed(datasetId: number): void;
  report(message: string): void;
  now(): number;
}

/** A background task to add. */
export type NewBackgroundTask = Pick<BackgroundTask, 'description' | 'params'> &
  Partial<Pick<BackgroundTask, 'targetObjectId' | 'sourceObjectId'>>;

/** A task that has run, and what its `run` returned. */
export interface Performed<R> {
  readonly task: TaskRow;
  readonly result: R;
}

/**
 * Runs the tasks of the catalogue. The catalogue decides, this class carries out: `tasks.cancel` and `tasks.startPublishing`
 * exclude each other there, and nothing of a task is visible before it publishes, so it ends canceled with nothing or
 * completed with everything. Messages of the worker count only for the attempt that `#running` holds.
 */
export class JobQueue {
  readonly #options: QueueOptions;
  readonly #running = new Map<number, Running>();
  readonly #waiters = new Waiters();
  /** Callers of `perform`, by task. */
  readonly #callers = new Map<number, PromiseWithResolvers<unknown>>();
  #isOpen = false;
  #isClaiming = false;
  #isWoken = false;
  /** The queue has killed the worker itself, so that the death counts against no other task. */
  #hasKilledWorker = false;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** Starts to claim tasks. */
  open(): void {
    this.#isOpen = true;
    this.wake();
  }

  /** To be called when a task was queued. */
  wake(): void {
    if (!this.#isOpen) return;
    this.#isWoken = true;
    if (!this.#isClaiming) this.#background(this.#claimAll());
  }

  /** The ids of tasks that are neither queued nor ended, and of those among them that the worker has. */
  status(): { readonly running: readonly number[]; readonly working: readonly number[] } {
    const running = [...this.#running.values()];
    const working = running.filter(({ phase }) => phase === 'working');
    return {
      running: running.map(({ task }) => task.id),
      working: working.map(({ task }) => task.id),
    };
  }

  /** Resolves with the row of a task when it has ended; rejects with `not-found` if it is deleted, or when the signal aborts. */
  async wait(taskId: number, signal?: AbortSignal): Promise<TaskRow> {
    // First subscribe, then look: an end in between is not missed.
    const end = this.#waiters.wait(taskId, signal);
    const row = await this.#options.catalog.tasks.get(taskId);
    const isOver = row === undefined || isTerminal(row.status);
    if (isOver && !this.#running.has(taskId)) this.#waiters.tell(taskId, row);
    return end;
  }

  /**
   * Adds a background task, or joins the open one of a kind that is shared, and resolves with its result when it is
   * published. Rejects with the error of the task; with `canceled` when the signal aborts, which cancels the task.
   */
  async perform<K extends JobKind>(
    kind: K,
    order: NewBackgroundTask,
    signal?: AbortSignal,
  ): Promise<Performed<ResultOf<K>>>;
  async perform(
    kind: string,
    order: NewBackgroundTask,
    signal?: AbortSignal,
  ): Promise<Performed<unknown>>;
  async perform(
    kind: string,
    order: NewBackgroundTask,
    signal?: AbortSignal,
  ): Promise<Performed<unknown>> {
    if (signal?.aborted === true || !this.#isOpen) throw canceled();
    const { task, caller } = await this.#add(kind, order);
    const abort = (): void => void this.cancel(task.id).catch(() => undefined);
    signal?.addEventListener('abort', abort, { once: true });
    if (isAborted(signal)) abort(); // while the task was added
    try {
      return { task, result: await caller.promise };
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  /**
   * Cancels a task and returns its row when nothing of it is left; throws `invalid` when it has ended or is being published.
   * For a task that was deleted with its dataset it stops what runs and throws `not-found`.
   */
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
    this.#ended(taskId, row);
    if (row === undefined) throw notFound();
    return row;
  }

  /** Resolves when no background task is running. */
  async backgroundIdle(): Promise<void> {
    for (;;) {
      const running = [...this.#running.values()].filter(({ slot }) => slot === 'background');
      if (running.length === 0) return;
      await Promise.all(running.map(({ over }) => over.promise));
    }
  }

  /** Claims nothing more, lets users' tasks finish for `graceMs`, and puts the rest back into the queue. */
  async close(graceMs: number): Promise<void> {
    this.#isOpen = false;
    const overs = (): Promise<unknown> =>
      Promise.all([...this.#running.values()].map((running) => running.over.promise));
    // Nobody waits for background tasks; those that publish already do so to the end.
    for (const running of this.#running.values()) {
      if (running.slot === 'background') this.#stop(running, 'return');
    }
    await Promise.race([overs(), pause(graceMs, undefined, { ref: false })]);
    for (const running of this.#running.values()) this.#stop(running, 'return');
    // A worker that does not let go within `cancelMs` is killed; that takes a moment, too.
    await Promise.race([overs(), pause(this.#options.cancelMs + 2_000, undefined, { ref: false })]);
    for (const caller of this.#callers.values()) {
      caller.promise.catch(() => undefined);
      caller.reject(canceled());
    }
  }

  /** A message of the worker process. */
  hear(message: FromWorker): void {
    if (message.type === 'heartbeat') return;
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

  /** The worker process died: its tasks are tried again, unless one of them died with it too often. */
  async workerLost(reason: string): Promise<void> {
    const hasKilledWorker = this.#hasKilledWorker;
    this.#hasKilledWorker = false;
    const lost = [...this.#running.values()].filter(({ phase }) => phase === 'working');
    if (!hasKilledWorker) {
      this.#options.report(`the worker process ended (${reason}); starting another`);
    }
    await Promise.all(
      lost.map((running) =>
        running.stopping === null
          ? this.#requeue(running, !hasKilledWorker, reason)
          : this.#stopped(running),
      ),
    );
  }

  /** Repeats work that only a full or failing disk can stop until it succeeds: the end of a task must not be lost. */
  async persist(work: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        // What was deleted meanwhile does not come back.
        if ((error as { code?: unknown }).code === 'not-found') throw error;
        this.#options.report(`will be tried again: ${toErrorValue(error).message}`);
        if (!this.#isOpen) return;
        await pause(this.#options.retryMs);
      }
    }
  }

  async #add(
    kind: string,
    order: NewBackgroundTask,
  ): Promise<{ task: TaskRow; caller: PromiseWithResolvers<unknown> }> {
    const { catalog, jobs, threads } = this.#options;
    const { background } = jobOf(jobs, kind);
    if (background === undefined)
      throw new Error(`${kind}: its tasks are queued with their resource`);
    const { targetObjectId = null, sourceObjectId = null, description, params } = order;
    if (background.isShared === true) {
      const open = await catalog.tasks.openTask(kind, (targetObjectId ?? sourceObjectId)!);
      if (open !== undefined) {
        const caller = this.#callerOf(open.id);
        this.wake();
        // It may have ended before the caller was known.
        const row = await catalog.tasks.get(open.id);
        const isOver = row === undefined || isTerminal(row.status);
        if (isOver && !this.#running.has(open.id)) this.#ended(open.id, row);
        return { task: open, caller };
      }
    }
    // One transaction instead of two: a query may be waiting.
    const isStarted = this.#isOpen && this.#countOf(kind) < background.concurrency(threads);
    const task = await catalog.tasks.addBackground({
      kind,
      description,
      priority: background.priority,
      params,
      targetObjectId,
      sourceObjectId,
      isStarted,
    });
    const caller = this.#callerOf(task.id); // before the task can end
    if (isStarted) this.#background(this.#prepare(this.#begin(task, 'background')));
    return { task, caller };
  }

  #callerOf(taskId: number): PromiseWithResolvers<unknown> {
    let caller = this.#callers.get(taskId);
    if (caller === undefined) this.#callers.set(taskId, (caller = Promise.withResolvers()));
    return caller;
  }

  /** Claims queued tasks until all slots are taken or nothing is queued. */
  async #claimAll(): Promise<void> {
    this.#isClaiming = true;
    try {
      while (this.#isWoken && this.#isOpen) {
        this.#isWoken = false;
        const running =
          (await this.#claim('standard')) ??
          (await this.#claim('interactive')) ??
          (await this.#claim('background'));
        if (running === undefined) continue;
        this.#isWoken = true;
        this.#background(this.#prepare(running));
      }
    } catch (error) {
      this.#isWoken = false;
      this.#options.report(`the queue cannot be read: ${toErrorValue(error).message}`);
      setTimeout(() => this.wake(), this.#options.retryMs).unref();
    } finally {
      this.#isClaiming = false;
    }
    if (this.#isWoken) this.wake();
  }

  async #claim(slot: Slot): Promise<Running | undefined> {
    const { catalog, jobs, threads } = this.#options;
    const taken = [...this.#running.values()].filter((other) => other.slot === slot);
    if (slot !== 'background' && taken.length >= threads) return undefined;
    const full = jobs.filter(
      ({ kind, background }) =>
        background !== undefined && this.#countOf(kind) >= background.concurrency(threads),
    );
    const task = await catalog.tasks.claim(
      slot === 'standard'
        ? { classes: ['interactive', 'standard'] }
        : // Interactive tasks ignore the account's share as well: whoever waits for one has no other task in mind.
          {
            classes: [slot],
            runningPerAccount: Infinity,
            exceptKinds: full.map(({ kind }) => kind),
          },
    );
    return task && this.#begin(task, slot);
  }

  #countOf(kind: string): number {
    return [...this.#running.values()].filter(({ task }) => task.kind === kind).length;
  }

  #begin(task: TaskRow, slot: Slot): Running {
    const running = new Running(task, slot);
    this.#running.set(task.id, running);
    return running;
  }

  async #prepare(running: Running): Promise<void> {
    const { task, attempt } = running;
    const { kind } = task;
    try {
      const params = await this.#job(task).prepare(task, this.#context(running));
      // It may have been canceled before this process knew that it runs.
      const row = await this.#options.catalog.tasks.get(task.id);
      if (row?.status !== 'running') running.stopping = 'cancel';
      if (running.stopping !== null) return await this.#stopped(running);
      if (params === null) {
        await this.#complete(running);
        this.#callers.get(task.id)?.resolve(undefined);
        return await this.#over(running);
      }
      running.work();
      const { id: taskId, accountId } = task;
      this.#options.send({ type: 'run', taskId, attempt, kind, params, accountId });
    } catch (error) {
      await this.#fail(running, toErrorValue(error), null);
    }
  }

  async #publish(running: Running, result: unknown): Promise<void> {
    await running.leaveWork('publishing');
    const { task, attempt } = running;
    try {
      const job = this.#job(task);
      if (job.publish === undefined) {
        this.#callers.get(task.id)?.resolve(result); // before the row says so: the caller need not wait for a transaction
        await this.#complete(running);
        return await this.#over(running);
      }
      if (!(await this.#options.catalog.tasks.startPublishing(task.id, attempt))) {
        running.stopping = 'cancel'; // canceled or deleted while the result was on its way
        return await this.#stopped(running);
      }
      const outcome = await job.publish(task, result, this.#context(running));
      if (outcome === 'run again') return await this.#requeue(running, false);
      crashpoint('task.before-done');
      this.#callers.get(task.id)?.resolve(result);
      await this.#over(running);
    } catch (error) {
      await this.#fail(running, toErrorValue(error), null);
    }
  }

  /** Completes a task that has nothing to publish, unless it was canceled or deleted meanwhile. */
  async #complete({ task }: Running): Promise<void> {
    const { tasks } = this.#options.catalog;
    await this.persist(async () => {
      if ((await tasks.get(task.id))?.status === 'running') await tasks.complete(task.id);
    });
  }

  /** Asks for a stop; `over` resolves when the task has stopped or ended otherwise. */
  #stop(running: Running, why: 'cancel' | 'return'): void {
    if (running.phase === 'publishing' || running.phase === 'ended') return;
    const isAsked = running.stopping !== null;
    if (running.stopping !== 'cancel') running.stopping = why;
    if (isAsked || running.phase !== 'working') return;
    this.#options.send({ type: 'cancel', taskId: running.task.id });
    setTimeout(() => {
      if (running.phase === 'working') this.#hasKilledWorker = this.#options.killWorker();
    }, this.#options.cancelMs).unref();
  }

  /** The worker has stopped a task as it was asked to. */
  async #stopped(running: Running): Promise<void> {
    if (running.stopping === 'return') return this.#requeue(running, false);
    await running.leaveWork('ended');
    await this.persist(() => this.#discard(running.task));
    await this.#over(running);
  }

  async #fail(running: Running, error: ErrorValue, metadata: JsonObject | null): Promise<void> {
    await running.leaveWork('ended');
    const { task, attempt } = running;
    const { catalog, data } = this.#options;
    const progress = { ...running.progress, ...(metadata?.['progress'] as JsonObject | undefined) };
    await this.persist(async () => {
      // Canceled or deleted meanwhile: then that is how it ended.
      if ((await catalog.tasks.get(task.id))?.status !== 'running') return this.#discard(task);
      const job = this.#job(task);
      if (job.salvage === undefined) await this.#discard(task);
      else await job.salvage(task, attempt, data);
      await this.#sweep(task);
      await catalog.tasks.fail(task.id, error.message, { metadata: { ...metadata, progress } });
    });
    const caller = this.#callers.get(task.id);
    caller?.promise.catch(() => undefined);
    caller?.reject(fromErrorValue(error));
    await this.#over(running);
  }

  /** Back into the queue; a counted attempt that was the last one makes the task fail as poison. */
  async #requeue(running: Running, isCounted: boolean, reason = ''): Promise<void> {
    const { catalog, data } = this.#options;
    const { task, attempt } = running;
    const job = this.#job(task);
    if (isCounted && attempt >= (job.attempts ?? budgets.taskAttempts)) {
      return this.#fail(
        running,
        toErrorValue(job.poisoned?.(task) ?? poisoned(attempt, reason)),
        null,
      );
    }
    await running.leaveWork('ended');
    await this.persist(async () => {
      if (job.isResumable !== true) await sweepAttempts(data, task);
      if ((await catalog.tasks.get(task.id))?.status !== 'running') return this.#discard(task);
      await catalog.tasks.requeue(task.id, { isCounted });
    });
    const row = await catalog.tasks.get(task.id);
    this.#leave(running);
    if (row === undefined || isTerminal(row.status)) this.#ended(task.id, row);
  }

  /** The task has ended, and its row says so. */
  async #over(running: Running): Promise<void> {
    running.phase = 'ended';
    const { task } = running;
    // The end does not wait for it: a full disk may refuse even this for a while.
    const isSwept = await this.#sweep(task).then(
      () => true,
      () => false,
    );
    if (!isSwept) this.#background(this.persist(() => this.#sweep(task)));
    let row: TaskRow | undefined;
    await this.persist(async () => {
      row = await this.#options.catalog.tasks.get(task.id);
    });
    this.#leave(running);
    this.#ended(task.id, row);
  }

  #leave(running: Running): void {
    this.#running.delete(running.task.id);
    running.over.resolve();
    this.wake();
  }

  /** Tells everybody who waits for a task; a caller of `perform` who has no answer yet hears that it was canceled. */
  #ended(taskId: number, row: TaskRow | undefined): void {
    this.#waiters.tell(taskId, row);
    const caller = this.#callers.get(taskId);
    if (caller === undefined) return;
    this.#callers.delete(taskId);
    caller.promise.catch(() => undefined);
    caller.reject(row === undefined ? notFound() : canceled());
  }

  /** Removes all files of a task that will not complete. */
  async #discard(task: TaskRow): Promise<void> {
    await this.#sweep(task);
    // A commit's task has no declaration: it only records what its import did.
    await this.#options.jobs
      .find(({ kind }) => kind === task.kind)
      ?.discard?.(task, this.#options.data);
  }

  /** Removes all that an ended task worked with. */
  async #sweep(task: TaskRow): Promise<void> {
    const { data, jobs } = this.#options;
    await sweepAttempts(data, task);
    await jobs.find(({ kind }) => kind === task.kind)?.cleanUp?.(task, data);
  }

  #job(task: TaskRow): Job {
    return jobOf(this.#options.jobs, task.kind);
  }

  /** Nobody waits for this work, so that its failure is only reported. */
  #background(work: Promise<void>): void {
    work.catch((error: unknown) => this.#options.report(toErrorValue(error).message));
  }

  #context(running: Running): PublishContext {
    const { catalog, store, data, now, committed } = this.#options;
    const { attempt, progress } = running;
    const persist = (work: () => Promise<void>): Promise<void> => this.persist(work);
    return { catalog, store, data, attempt, progress, persist, committed, now };
  }
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

function poisoned(attempt: number, reason: string): AppError {
  return new AppError(
    'internal',
    `the worker process ended ${attempt} times while it ran this task (the last time: ${reason}); it is not tried again`,
  );
}
