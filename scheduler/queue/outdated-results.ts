import { budgets } from '../../engine/core/budgets.js';
import { AppError } from '../../engine/core/errors.js';

/**
 * Number of outdated results after which no other task on the target of a task begins until this one has ended. From then on, only tasks
 * that are running already, each once, and requests that commit without a task, such as rollbacks, can outdate its result.
 */
const attemptsBesideOthers = 3;

/** Counts, for each task, the results that were outdated when they were to be published. The counts are lost when the server ends. */
export class OutdatedResults {
  readonly #countByTask = new Map<number, number>();

  /** Counts an outdated result. Throws `conflict` if the task has had `budgets.outdatedResults` of them. */
  add(taskId: number): void {
    const count = (this.#countByTask.get(taskId) ?? 0) + 1;
    this.#countByTask.set(taskId, count);
    if (count >= budgets.outdatedResults) throw outdatedResultsError(count);
  }

  /** The ids of the tasks beside which no other task on their target begins. */
  get exclusiveTaskIds(): readonly number[] {
    return [...this.#countByTask].flatMap(([id, count]) =>
      count >= attemptsBesideOthers ? [id] : [],
    );
  }

  /** Forgets a task that has ended. */
  forgetTask(taskId: number): void {
    this.#countByTask.delete(taskId);
  }
}

function outdatedResultsError(count: number): AppError {
  const message = `other tasks changed the dataset ${count} times while this one worked; try again when fewer changes are made at the same time`;
  return new AppError('conflict', message);
}
