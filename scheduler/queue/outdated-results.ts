import { budgets } from '../../engine/core/budgets.js';
import { AppError } from '../../engine/core/errors.js';
import type { RunningTask } from './running-task.js';

/**
 * Number of outdated results after which a task becomes exclusive: it starts first, and no other task of a user begins on its target while
 * it runs. From then on, only users' tasks that were running when its attempt began, each once, and requests that commit without a task,
 * such as rollbacks, can outdate its result.
 */
const resultsBeforeExclusive = 3;

/** Counts, for each task, the results that were outdated when they were to be published. The counts are lost when the server ends. */
export class OutdatedResults {
  readonly #countByTask = new Map<number, number>();

  /**
   * Counts an outdated result of an attempt. A result of an exclusive task counts only if no other task of a user was running on its target
   * when the attempt began, because each task that was running can outdate it only once. Throws `conflict` when the count reaches
   * `budgets.outdatedResults`.
   */
  add({ task, isAlone }: RunningTask): void {
    const countBefore = this.#countByTask.get(task.id) ?? 0;
    if (countBefore >= resultsBeforeExclusive && !isAlone) return;
    this.#countByTask.set(task.id, countBefore + 1);
    if (countBefore + 1 >= budgets.outdatedResults) throw outdatedResultsError(countBefore + 1);
  }

  /** The ids of the tasks that have become exclusive. */
  get exclusiveTaskIds(): readonly number[] {
    return [...this.#countByTask].flatMap(([id, count]) =>
      count >= resultsBeforeExclusive ? [id] : [],
    );
  }

  /** Forgets a task that has ended or was deleted. */
  forgetTask(taskId: number): void {
    this.#countByTask.delete(taskId);
  }
}

function outdatedResultsError(count: number): AppError {
  const message = `the dataset was changed ${count} times or more while this task worked; try again when fewer changes are made at the same time`;
  return new AppError('conflict', message);
}
