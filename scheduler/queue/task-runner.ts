import { setTimeout as pause } from 'node:timers/promises';
import type { Catalog } from '../../engine/catalog/catalog.js';
import type { TaskRow } from '../../engine/catalog/task-row.js';
import { TransitionError } from '../../engine/catalog/task-status.js';
import { budgets } from '../../engine/core/budgets.js';
import { crashpoint } from '../../engine/core/crashpoint.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import {
  AppError,
  fromErrorValue,
  toErrorValue,
  type ErrorValue,
} from '../../engine/core/errors.js';
import type { JsonObject } from '../../engine/core/types.js';
import type { Store } from '../../engine/store/store.js';
import {
  answerJobCall,
  type AnswerHostRequest,
  type HostCallMessage,
} from '../expressions/job-calls.js';
import { jobOfKind, type Jobs } from '../jobs/index.js';
import { isTerminal, type Job, type PublishContext } from '../jobs/job.js';
import type { MessageFromWorker, MessageToWorker } from '../worker/messages.js';
import { OutdatedResults } from './outdated-results.js';
import { RunningTask, type SlotKind } from './running-task.js';
import { TaskFileRemover } from './task-file-remover.js';
import type { TaskWaiters } from './task-waiters.js';
import { WorkerDeaths } from './worker-deaths.js';

/** Dependencies and time limits of a `TaskRunner`. */
export interface TaskRunnerOptions {
  readonly jobs: Jobs;
  readonly catalog: Catalog;
  readonly store: Store;
  readonly data: DataFolder;
  /** Time in milliseconds after which the worker process is killed if it has not stopped a canceled task. */
  readonly cancelMs: number;
  /** Delay in milliseconds before work that a failing disk has stopped is tried again. */
  readonly retryMs: number;
  send(message: MessageToWorker): void;
  /** Kills the worker process; returns false if none is running. */
  killWorker(): boolean;
  /** Answers the calls of host functions that the expressions of jobs make. */
  readonly answerCall: AnswerHostRequest;
  /** Called after a task has committed to a dataset or restored an archived one. */
  committed(datasetId: number): void;
  /** Called after an export whose e-mail is due has completed. */
  mailDue(): void;
  /** Reports a problem to the operator. */
  report(message: string): void;
  now(): number;
}

/**
 * Runs claimed tasks: `prepare` in the API process, `run` in the worker process, then `publish` and the clean-up in the API process. Every
 * started task ends as completed, failed or canceled, or is queued again. The catalogue decides which: `tasks.cancel` and
 * `tasks.startPublishing` exclude each other, and nothing of a task is visible before it publishes.
 */
export class TaskRunner {
  readonly outdatedResults = new OutdatedResults();
  readonly fileRemover: TaskFileRemover;
  readonly #options: TaskRunnerOptions;
  readonly #waiters: TaskWaiters;
  /**
   * Called when a queued task may have become ready to start: a task has released its slot or is no longer suspected of killing the worker.
   */
  readonly #onSlotFreed: () => void;
  readonly #runningById = new Map<number, RunningTask>();
  readonly #workerDeaths = new WorkerDeaths();
  /** Whether this runner has killed the worker, so that its death counts against no task. */
  #hasKilledWorker = false;
  #isClosing = false;

  constructor(options: TaskRunnerOptions, waiters: TaskWaiters, onSlotFreed: () => void) {
    this.fileRemover = new TaskFileRemover(options);
    this.#options = options;
    this.#waiters = waiters;
    this.#onSlotFreed = onSlotFreed;
  }

  get runningTasks(): readonly RunningTask[] {
    return [...this.#runningById.values()];
  }

  /** Returns the running task with this id; undefined if the task is not running. */
  runningTaskOf(taskId: number): RunningTask | undefined {
    return this.#runningById.get(taskId);
  }

  /** The ids of the tasks of which one may be started now; `any` if no task is suspected of killing the worker. */
  get startableTaskIds(): 'any' | readonly number[] {
    return this.#workerDeaths.startableTaskIds(this.runningTasks);
  }

  /** Forgets the deaths and the outdated results of a task that has ended or was deleted. */
  forgetTask(taskId: number): void {
    this.#workerDeaths.forgetTask(taskId);
    this.outdatedResults.forgetTask(taskId);
  }

  /** Ends the suspicion of tasks that `startableTaskIds` has returned but that cannot be claimed. */
  forgetSuspects(taskIds: readonly number[]): void {
    this.#workerDeaths.forgetSuspects(taskIds);
  }

  /** Starts a task that has been claimed. */
  startTask(task: TaskRow, slot: SlotKind): void {
    const runningTask = new RunningTask(task, slot, this.runningTasks);
    this.#runningById.set(task.id, runningTask);
    this.#inBackground(this.#prepare(runningTask));
  }

  /** Stops a task that is not being published yet; `runningTask.finished` resolves when it has stopped or has ended in another way. */
  stopTask(runningTask: RunningTask, why: 'cancel' | 'requeue'): void {
    if (runningTask.phase === 'publishing' || runningTask.phase === 'ended') return;
    const isStopping = runningTask.stopReason !== null;
    if (runningTask.stopReason !== 'cancel') runningTask.stopReason = why;
    if (isStopping || runningTask.phase !== 'working') return;
    this.#options.send({ type: 'cancel', taskId: runningTask.task.id });
    setTimeout(() => {
      if (runningTask.phase === 'working') this.#hasKilledWorker = this.#options.killWorker();
    }, this.#options.cancelMs).unref();
  }

  /**
   * Stops background tasks at once and users' tasks after `graceMs`, and queues them again. Waits, for a limited time, until these tasks
   * have stopped and tasks that are being published are finished.
   */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    const waitForAll = (): Promise<unknown> =>
      Promise.all(this.runningTasks.map((runningTask) => runningTask.finished.promise));
    for (const runningTask of this.runningTasks) {
      if (runningTask.slot === 'background') this.stopTask(runningTask, 'requeue');
    }
    await Promise.race([waitForAll(), pause(graceMs, undefined, { ref: false })]);
    for (const runningTask of this.runningTasks) this.stopTask(runningTask, 'requeue');
    // The time limit includes killing a worker that has not stopped its tasks within `cancelMs`.
    const killMs = this.#options.cancelMs + 2_000;
    await Promise.race([waitForAll(), pause(killMs, undefined, { ref: false })]);
  }

  receive(message: MessageFromWorker): void {
    if (message.type === 'heartbeat') return;
    const runningTask = this.#runningById.get(message.taskId);
    // Messages of an earlier attempt, or of a task that has left the worker, are outdated.
    if (runningTask?.attempt !== message.attempt || runningTask.phase !== 'working') return;
    if (message.type === 'call') this.#inBackground(this.#answer(runningTask, message));
    else if (message.type === 'progress') {
      const { tasks } = this.#options.catalog;
      runningTask.reportProgress(message.progress, (progress) =>
        tasks.progress(message.taskId, message.attempt, progress),
      );
      if (this.#workerDeaths.clearSuspicion(runningTask)) this.#onSlotFreed();
    } else if (runningTask.stopReason !== null)
      this.#inBackground(this.#finishStopped(runningTask));
    else if (message.type === 'done')
      this.#inBackground(this.#publish(runningTask, message.result));
    else this.#inBackground(this.#fail(runningTask, message.error, message.metadata));
  }

  /**
   * Queues the tasks of the dead worker process again or ends them: a task that has caused too many deaths fails, and one that was being
   * canceled is canceled. A death that the runner itself caused counts against no task. Must be called when the worker process has died.
   */
  async onWorkerLost(reason: string): Promise<void> {
    const hasKilledWorker = this.#hasKilledWorker;
    this.#hasKilledWorker = false;
    const lostTasks = this.runningTasks.filter(({ phase }) => phase === 'working');
    if (!hasKilledWorker) {
      this.#workerDeaths.recordDeath(lostTasks.filter(({ stopReason }) => stopReason === null));
      this.#options.report(`the worker process ended (${reason}); starting another`);
    }
    await Promise.all(
      lostTasks.map((runningTask) =>
        runningTask.stopReason === null
          ? this.#requeueOrFail(runningTask, !hasKilledWorker, reason)
          : this.#finishStopped(runningTask),
      ),
    );
  }

  /** Forgets a task that will not complete, and removes all its files. */
  async discardTaskFiles(task: TaskRow): Promise<void> {
    this.forgetTask(task.id);
    await this.fileRemover.removeAllFiles(task);
  }

  /**
   * Repeats work until it succeeds, so that what it writes is not lost; only a full or failing disk can make the work fail. Gives up after
   * a failure if the runner is closing, and returns whether the work has succeeded. Throws if the work throws `not-found`, because its task
   * or dataset was deleted, or if the task has ended.
   */
  async persist(work: () => Promise<void>): Promise<boolean> {
    for (;;) {
      try {
        await work();
        return true;
      } catch (error) {
        if (isTaskGone(error)) throw error;
        this.#options.report(`will be tried again: ${toErrorValue(error).message}`);
        if (this.#isClosing) return false;
        await pause(this.#options.retryMs);
      }
    }
  }

  /** Answers a call of a running job, unless it has left the worker meanwhile. */
  async #answer(runningTask: RunningTask, call: HostCallMessage): Promise<void> {
    const { task, attempt, leftWorker } = runningTask;
    const answer = await answerJobCall(this.#options.answerCall, task.userId, call, leftWorker);
    if (runningTask.phase === 'working')
      this.#options.send({ type: 'answer', taskId: task.id, attempt, ...answer });
  }

  async #prepare(runningTask: RunningTask): Promise<void> {
    const { task, attempt } = runningTask;
    const { id: taskId, accountId, kind } = task;
    try {
      const params = await this.#jobOf(task).prepare(task, this.#contextOf(runningTask));
      // The task may have been canceled before it was in `#runningById`.
      const row = await this.#options.catalog.tasks.get(taskId);
      if (row?.status !== 'running') runningTask.stopReason = 'cancel';
      if (runningTask.stopReason !== null) return await this.#finishStopped(runningTask);
      if (params === null) {
        await this.#complete(runningTask);
        this.#waiters.resolveResult(taskId, undefined);
        return await this.#end(runningTask);
      }
      runningTask.startWork();
      this.#options.send({ type: 'run', taskId, attempt, kind, params, accountId });
    } catch (error) {
      await this.#fail(runningTask, toErrorValue(error), null);
    }
  }

  async #publish(runningTask: RunningTask, result: unknown): Promise<void> {
    await runningTask.leaveWork('publishing');
    const { task, attempt } = runningTask;
    try {
      const job = this.#jobOf(task);
      if (job.publish === undefined) {
        this.#waiters.resolveResult(task.id, result); // before the transaction, for which the caller need not wait
        await this.#complete(runningTask);
        return await this.#end(runningTask);
      }
      if (!(await this.#options.catalog.tasks.startPublishing(task.id, attempt))) {
        runningTask.stopReason = 'cancel'; // the task was canceled or deleted while it ran
        return await this.#finishStopped(runningTask);
      }
      const outcome = await job.publish(task, result, this.#contextOf(runningTask));
      if (outcome === 'run again') return await this.#runAgain(runningTask);
      crashpoint('task.before-done');
      // With another outcome, the promise of the result is rejected when the task leaves the runner.
      if (outcome === 'published') this.#waiters.resolveResult(task.id, result);
      await this.#end(runningTask);
    } catch (error) {
      await this.#fail(runningTask, toErrorValue(error), null);
    }
  }

  /**
   * Queues again a task whose result was outdated when it was to be published. Throws `conflict`, with which the caller fails the task, if
   * that has happened too often.
   */
  async #runAgain(runningTask: RunningTask): Promise<void> {
    const { task } = runningTask;
    this.outdatedResults.add(runningTask);
    await this.fileRemover.removeResult(task);
    return this.#requeue(runningTask, false);
  }

  /** Completes a task that has nothing to publish. */
  async #complete({ task }: RunningTask): Promise<void> {
    await this.#settle(task, async () => {
      await this.#options.catalog.tasks.complete(task.id);
    });
  }

  /**
   * Runs the work that writes how an attempt ended, until it succeeds. If the task was canceled or deleted meanwhile, only removes its
   * files.
   */
  async #settle(task: TaskRow, work: () => Promise<void>): Promise<void> {
    try {
      await this.persist(work);
    } catch (error) {
      if (!isTaskGone(error)) throw error;
      await this.discardTaskFiles(task);
    }
  }

  /** Ends or requeues a task that has stopped because of its `stopReason`. */
  async #finishStopped(runningTask: RunningTask): Promise<void> {
    if (runningTask.stopReason === 'requeue') return this.#requeue(runningTask, false);
    await runningTask.leaveWork('ended');
    await this.discardTaskFiles(runningTask.task);
    await this.#end(runningTask);
  }

  async #fail(
    runningTask: RunningTask,
    error: ErrorValue,
    metadata: JsonObject | null,
  ): Promise<void> {
    await runningTask.leaveWork('ended');
    const { task, attempt } = runningTask;
    const { catalog, data } = this.#options;
    const progress = {
      ...runningTask.progress,
      ...(metadata?.['progress'] as JsonObject | undefined),
    };
    await this.#settle(task, async () => {
      // A task that was canceled or deleted meanwhile keeps its status.
      if ((await catalog.tasks.get(task.id))?.status !== 'running')
        return this.discardTaskFiles(task);
      const job = this.#jobOf(task);
      if (job.salvage === undefined) await this.discardTaskFiles(task);
      else await job.salvage(task, attempt, data);
      // What a job with `salvage` reads stays until it is written that the task has failed: a start before that runs the task again.
      crashpoint('task.before-failed');
      await catalog.tasks.fail(task.id, error.message, { metadata: { ...metadata, progress } });
    });
    this.#waiters.rejectResult(task.id, fromErrorValue(error));
    await this.#end(runningTask);
  }

  /** Queues a task again after a death of the worker, or fails it if it has killed too many workers (a poison task). */
  async #requeueOrFail(
    runningTask: RunningTask,
    isCounted: boolean,
    reason: string,
  ): Promise<void> {
    const { task } = runningTask;
    const job = this.#jobOf(task);
    const deaths = this.#workerDeaths.deathsCausedBy(task.id);
    if (deaths < (job.attempts ?? budgets.taskAttempts))
      return this.#requeue(runningTask, isCounted);
    const error = job.poisoned?.(task, deaths) ?? poisonTaskError(deaths, reason);
    return this.#fail(runningTask, toErrorValue(error), null);
  }

  /** Queues a task again. The next attempt gets a new number only if `isCounted`. */
  async #requeue(runningTask: RunningTask, isCounted: boolean): Promise<void> {
    const { catalog } = this.#options;
    const { task } = runningTask;
    const job = this.#jobOf(task);
    await runningTask.leaveWork('ended');
    await this.#settle(task, async () => {
      if (job.isResumable !== true) await this.fileRemover.removeAttempts(task);
      if ((await catalog.tasks.get(task.id))?.status !== 'running')
        return this.discardTaskFiles(task);
      await catalog.tasks.requeue(task.id, { isCounted });
    });
    const row = await catalog.tasks.get(task.id);
    const hasEnded = row === undefined || isTerminal(row.status);
    if (hasEnded) this.forgetTask(task.id);
    this.#release(runningTask);
    if (hasEnded) this.#waiters.onTaskEnded(task.id, row);
  }

  /** Removes the files of a task that has ended, unless its row does not say so yet, and then notifies its waiters. */
  async #end(runningTask: RunningTask): Promise<void> {
    runningTask.phase = 'ended';
    const { task } = runningTask;
    this.forgetTask(task.id);
    let row: TaskRow | undefined;
    await this.persist(async () => {
      row = await this.#options.catalog.tasks.get(task.id);
      // A server that is closed while its disk fails has not written that the task has ended: the next start runs it again.
      if (row === undefined || isTerminal(row.status))
        await this.fileRemover.removeUnneededFiles(task);
    });
    this.#release(runningTask);
    this.#waiters.onTaskEnded(task.id, row);
  }

  #release(runningTask: RunningTask): void {
    const { id } = runningTask.task;
    if (this.#runningById.get(id) === runningTask) this.#runningById.delete(id); // the next attempt may have started already
    runningTask.finished.resolve();
    this.#onSlotFreed();
  }

  #jobOf(task: TaskRow): Job {
    return jobOfKind(this.#options.jobs, task.kind);
  }

  /** Runs work in the background, and reports its failure. */
  #inBackground(work: Promise<void>): void {
    work.catch((error: unknown) => this.#options.report(toErrorValue(error).message));
  }

  #contextOf(runningTask: RunningTask): PublishContext {
    const { catalog, store, data, now, committed, mailDue } = this.#options;
    const { attempt, progress } = runningTask;
    const persist = (work: () => Promise<void>): Promise<boolean> => this.persist(work);
    return { catalog, store, data, attempt, progress, persist, committed, mailDue, now };
  }
}

/** Whether an error says that a task or its dataset was deleted, or that the task has ended. */
function isTaskGone(error: unknown): boolean {
  return (
    error instanceof TransitionError || (error instanceof AppError && error.code === 'not-found')
  );
}

function poisonTaskError(deaths: number, reason: string): AppError {
  return new AppError(
    'internal',
    `the worker process ended ${deaths} times while it ran this task alone (the last time: ${reason}); it is not tried again`,
  );
}
