import type { TaskRow } from '../../engine/catalog/task-row.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import { toErrorValue } from '../../engine/core/errors.js';
import type { Jobs } from '../jobs/index.js';
import type { Job } from '../jobs/job.js';
import { sweepAttempts } from './sweep.js';

interface TaskFileRemoverOptions {
  readonly jobs: Jobs;
  readonly data: DataFolder;
  /** Reports a problem to the operator. */
  report(message: string): void;
}

/** Removes files of a task; returns undefined if its kind has none. */
type Removal = () => Promise<unknown> | undefined;

/** Maximum number of removals that are tried again; the next start makes up for others. */
const maxFailedRemovals = 1_000;

/** Removes files of tasks. A failure is reported and does not keep the task from going on: the next start removes the files. */
export class TaskFileRemover {
  readonly #options: TaskFileRemoverOptions;
  readonly #failedRemovals: Removal[] = [];

  constructor(options: TaskFileRemoverOptions) {
    this.#options = options;
  }

  /** Removes all files of a task that will not complete. */
  async removeAllFiles(task: TaskRow): Promise<void> {
    await this.removeUnneededFiles(task);
    // No job declares the kind of a commit's task, so there is nothing to discard: the task only records a commit that was made.
    await this.#tryLastRemoval(() => this.#jobIfAny(task)?.discard?.(task, this.#options.data));
  }

  /** Removes the files that an ended task no longer needs. */
  async removeUnneededFiles(task: TaskRow): Promise<void> {
    const { data } = this.#options;
    await this.#tryLastRemoval(() => sweepAttempts(data, task.id));
    await this.#tryLastRemoval(() => this.#jobIfAny(task)?.cleanUp?.(task, data));
  }

  /** Removes the outdated result of a task that will run again. */
  async removeResult(task: TaskRow): Promise<void> {
    await this.#tryRemoval(() => this.#jobIfAny(task)?.discard?.(task, this.#options.data));
  }

  /** Removes the scratch folders of a task that will run again from the beginning. */
  async removeAttempts(task: TaskRow): Promise<void> {
    await this.#tryRemoval(() => sweepAttempts(this.#options.data, task.id));
  }

  /** Tries again to remove files of ended tasks that could not be removed. */
  async retryFailedRemovals(): Promise<void> {
    for (const remove of this.#failedRemovals.splice(0)) await this.#tryLastRemoval(remove);
  }

  async #tryRemoval(remove: Removal): Promise<void> {
    try {
      await remove();
    } catch (error) {
      this.#options.report(`${toErrorValue(error).message}; the next start tries again`);
    }
  }

  /** Removes files of a task that ends, as `#tryRemoval` does; after a failure, `retryFailedRemovals` tries again, too. */
  async #tryLastRemoval(remove: Removal): Promise<void> {
    await this.#tryRemoval(async () => {
      try {
        await remove();
      } catch (error) {
        if (this.#failedRemovals.length < maxFailedRemovals) this.#failedRemovals.push(remove);
        throw error;
      }
    });
  }

  #jobIfAny(task: TaskRow): Job | undefined {
    return this.#options.jobs.find(({ kind }) => kind === task.kind);
  }
}
