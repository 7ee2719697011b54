import type { StandaloneTask } from '../../engine/catalog/tasks.js';
import type { TaskRow } from '../../engine/catalog/task-row.js';
import { canceledError, notFoundError, toErrorValue } from '../../engine/core/errors.js';
import { jobOfKind, type JobKind, type ResultOf } from '../jobs/index.js';
import { isTerminal, type CompletedTask, type NewStandaloneTask } from '../jobs/job.js';
import type { MessageFromWorker } from '../worker/messages.js';
import type { SlotKind } from './running-task.js';
import { sweepAttempts } from './sweep.js';
import { TaskRunner, type TaskRunnerOptions } from './task-runner.js';
import { TaskWaiters } from './task-waiters.js';

interface QueueOptions extends TaskRunnerOptions {
  /** Number of standard slots, and also of slots for interactive tasks. */
  readonly threads: number;
}

/** The durable queue: claims tasks of the catalogue whenever a slot is free, and passes them to the `TaskRunner`. */
export class JobQueue {
  readonly #options: QueueOptions;
  readonly #runner: TaskRunner;
  readonly #waiters = new TaskWaiters();
  #isOpen = false;
  #isClaiming = false;
  /** Whether another attempt to claim a task is to be made. */
  #isWoken = false;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#runner = new TaskRunner(options, this.#waiters, () => this.wake());
  }

  open(): void {
    this.#isOpen = true;
    this.wake();
  }

  /** Makes the queue claim tasks. Must be called when a task was queued, or when a queued task may have become ready to start. */
  wake(): void {
    if (!this.#isOpen) return;
    this.#isWoken = true;
    if (!this.#isClaiming) void this.#claimAll();
  }

  /** Repeats work that must follow a commit to a log, as `TaskRunner.persist` does. */
  persist(work: () => Promise<void>): Promise<boolean> {
    return this.#runner.persist(work);
  }

  /** Tries again to remove files of ended tasks that could not be removed. */
  retryFailedRemovals(): Promise<void> {
    return this.#runner.fileRemover.retryFailedRemovals();
  }

  /** Returns the ids of the running tasks, and of those running tasks that are in the worker process. */
  status(): { readonly running: readonly number[]; readonly working: readonly number[] } {
    const { runningTasks } = this.#runner;
    const working = runningTasks.filter(({ phase }) => phase === 'working');
    return {
      running: runningTasks.map(({ task }) => task.id),
      working: working.map(({ task }) => task.id),
    };
  }

  /**
   * Resolves with the row of a task when it has ended. Rejects with `not-found` if the task is deleted, and with the signal's reason
   * if the signal aborts.
   */
  async wait(taskId: number, signal?: AbortSignal): Promise<TaskRow> {
    // The subscription is made before the row is read, so that an end of the task in between is not missed.
    const endOfTask = this.#waiters.waitForEnd(taskId, signal);
    const row = await this.#options.catalog.tasks.get(taskId);
    if (hasEnded(row) && !this.#runner.runningTaskOf(taskId))
      this.#waiters.onTaskEnded(taskId, row);
    return endOfTask;
  }

  /** Does what `TaskQueue.enqueueAndWait` says; the result has the type that the kind of job declares. */
  async enqueueAndWait<K extends string>(
    kind: K,
    standaloneTask: NewStandaloneTask,
    signal?: AbortSignal,
  ): Promise<CompletedTask<ResultOf<K>>> {
    if (isAborted(signal) || !this.#isOpen) throw canceledError();
    const { task, result } = await this.#addTask(kind, standaloneTask);
    const abort = (): void => void this.cancel(task.id).catch(() => undefined);
    signal?.addEventListener('abort', abort, { once: true });
    if (isAborted(signal)) abort(); // the signal may have aborted while the task was added
    try {
      return { task, result: (await result) as ResultOf<K> };
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  /** Queues a task of a kind without a resource, for a user who does not wait for it but can see the task and its result. */
  async enqueue(
    kind: JobKind,
    standaloneTask: NewStandaloneTask & { userId: number },
  ): Promise<TaskRow> {
    const { tasks } = this.#options.catalog;
    const listedTask = { ...this.#newTask(kind, standaloneTask), isListed: true, isStarted: false };
    const task = await tasks.addStandalone(listedTask);
    this.wake();
    return task;
  }

  /**
   * Cancels a task, waits until it has stopped, and returns its row. Throws `invalid` if the task has ended or is being published. If the
   * row of the task was deleted, stops its running attempt or removes what it keeps for its next one, and throws `not-found`.
   */
  async cancel(taskId: number): Promise<TaskRow> {
    const { tasks } = this.#options.catalog;
    const rowBefore = await tasks.get(taskId);
    if (rowBefore !== undefined) await tasks.cancel(taskId);
    const runningTask = this.#runner.runningTaskOf(taskId);
    if (runningTask !== undefined) {
      this.#runner.stopTask(runningTask, 'cancel');
      await runningTask.finished.promise;
    } else if (rowBefore !== undefined) {
      await this.#runner.discardTaskFiles(rowBefore);
    } else {
      this.#runner.forgetTask(taskId);
      await sweepAttempts(this.#options.data, taskId);
    }
    this.wake(); // other tasks may have waited for this one
    const row = await tasks.get(taskId);
    this.#waiters.onTaskEnded(taskId, row);
    if (row === undefined) throw notFoundError();
    return row;
  }

  /**
   * Cancels a task, or waits until its result has been published. Resolves also if the task has ended or was deleted; of a deleted task, a
   * running attempt is stopped.
   */
  async end(taskId: number): Promise<void> {
    for (;;) {
      const runningTask = this.#runner.runningTaskOf(taskId);
      try {
        return void (await this.cancel(taskId));
      } catch (error) {
        if (hasEnded(await this.#options.catalog.tasks.get(taskId))) return;
        if (runningTask === undefined) throw error;
        // If the result that is being published is outdated, the task is queued again, and can be canceled then.
        await runningTask.finished.promise;
      }
    }
  }

  /** Resolves when no background task is running. */
  async waitForBackgroundTasks(): Promise<void> {
    for (;;) {
      const backgroundTasks = this.#runner.runningTasks.filter(({ slot }) => slot === 'background');
      if (backgroundTasks.length === 0) return;
      await Promise.all(backgroundTasks.map(({ finished }) => finished.promise));
    }
  }

  /** Stops claiming tasks, lets users' tasks finish for `graceMs`, and queues unfinished tasks again, background tasks at once. */
  async close(graceMs: number): Promise<void> {
    this.#isOpen = false;
    await this.#runner.close(graceMs);
    this.#waiters.rejectAllResults();
  }

  receive(message: MessageFromWorker): void {
    this.#runner.receive(message);
  }

  /** Handles the death of the worker process: its tasks are queued again, fail or are canceled. */
  onWorkerLost(reason: string): Promise<void> {
    return this.#runner.onWorkerLost(reason);
  }

  async #addTask(
    kind: string,
    standaloneTask: NewStandaloneTask,
  ): Promise<{ readonly task: TaskRow; readonly result: Promise<unknown> }> {
    const { catalog, jobs, threads } = this.#options;
    const newTask = this.#newTask(kind, standaloneTask);
    const { targetObjectId, sourceObjectId } = newTask;
    const { requiresIdleTarget, standalone } = jobOfKind(jobs, kind);
    const { isShared, concurrency } = standalone!;
    if (isShared === true) {
      const openTask = await catalog.tasks.openTask(kind, (targetObjectId ?? sourceObjectId)!);
      if (openTask !== undefined) {
        const result = this.#waiters.resultOfTask(openTask.id);
        this.wake();
        // The task may have ended before its result was awaited.
        const row = await catalog.tasks.get(openTask.id);
        if (hasEnded(row) && !this.#runner.runningTaskOf(openTask.id))
          this.#waiters.onTaskEnded(openTask.id, row);
        return { task: openTask, result };
      }
    }
    // If the task can start at once, it is added as running, which saves a transaction: a query may be waiting for it.
    const isStarted =
      this.#isOpen &&
      requiresIdleTarget !== true &&
      this.#runner.startableTaskIds === 'any' &&
      this.#countRunningTasks(kind) < concurrency(threads);
    const task = await catalog.tasks.addStandalone({ ...newTask, isStarted });
    const result = this.#waiters.resultOfTask(task.id); // must be awaited before the task can end
    if (isStarted) this.#runner.startTask(task, 'background');
    else this.wake();
    return { task, result };
  }

  #newTask(kind: string, standaloneTask: NewStandaloneTask): Omit<StandaloneTask, 'isStarted'> {
    const { standalone } = jobOfKind(this.#options.jobs, kind);
    if (standalone === undefined)
      throw new Error(`${kind}: its tasks are queued with their resource`);
    const { priority } = standalone;
    return { targetObjectId: null, sourceObjectId: null, ...standaloneTask, kind, priority };
  }

  /** Claims queued tasks until no queued task can start. */
  async #claimAll(): Promise<void> {
    this.#isClaiming = true;
    try {
      while (this.#isWoken && this.#isOpen) {
        this.#isWoken = false;
        const { startableTaskIds } = this.#runner;
        const isStarted =
          (await this.#claimTask('standard')) ||
          (await this.#claimTask('interactive')) ||
          (await this.#claimTask('background'));
        const isBlocked = startableTaskIds !== 'any' && startableTaskIds.length > 0 && !isStarted;
        if (isBlocked) this.#runner.forgetSuspects(startableTaskIds);
        if (isStarted || isBlocked) this.#isWoken = true;
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

  /** Claims and starts a task for a slot; returns false if there is no free slot or no task for it. */
  async #claimTask(slot: SlotKind): Promise<boolean> {
    const { catalog, jobs, threads } = this.#options;
    const occupyingTasks = this.#runner.runningTasks.filter((other) => other.slot === slot);
    const { startableTaskIds: startableIds } = this.#runner;
    if (slot !== 'background' && occupyingTasks.length >= threads) return false;
    if (startableIds !== 'any' && startableIds.length === 0) return false;
    const fullKinds = jobs.filter(
      ({ kind, standalone }) =>
        standalone !== undefined &&
        this.#countRunningTasks(kind) >= standalone.concurrency(threads),
    );
    const task = await catalog.tasks.claim({
      ...(startableIds !== 'any' && { ids: startableIds }),
      exceptKinds: fullKinds.map(({ kind }) => kind),
      kindsOnUnavailable: jobs.flatMap((job) => (job.standalone?.runsOnRefused ? [job.kind] : [])),
      idleKinds: jobs.flatMap((job) => (job.requiresIdleTarget ? [job.kind] : [])),
      exclusiveIds: this.#runner.outdatedResults.exclusiveTaskIds,
      // The account's share limits only what starts in standard slots: users wait for interactive tasks, which may take interactive slots
      // beyond it.
      ...(slot === 'standard'
        ? { classes: ['interactive', 'standard'] }
        : { classes: [slot], runningPerAccount: Infinity }),
    });
    if (task === undefined) return false;
    this.#runner.startTask(task, slot);
    return true;
  }

  #countRunningTasks(kind: string): number {
    return this.#runner.runningTasks.filter(({ task }) => task.kind === kind).length;
  }
}

function hasEnded(row: TaskRow | undefined): boolean {
  return row === undefined || isTerminal(row.status);
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}
