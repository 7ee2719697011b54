import type { RunningTask } from './running-task.js';

/**
 * Finds the tasks that kill the worker process. A death counts against a task only if no other task was in the worker, apart from tasks
 * that were being stopped, and the task had not progressed beyond its earlier attempts. Every task that was in the worker without such
 * progress is a suspect: it is started before other tasks, one suspect at a time, and no other task is started until the suspect has
 * progressed further or has ended. The counts are not stored, so a death of the whole server, in whatever order its processes die, counts
 * against no task.
 */
export class WorkerDeaths {
  readonly #records = new Map<number, DeathRecord>();
  readonly #suspects = new Set<number>();

  /** Records that the worker died while it ran these tasks, none of which was being stopped. */
  recordDeath(tasks: readonly RunningTask[]): void {
    for (const running of tasks) {
      const { id } = running.task;
      const { count = 0, reached = 0 } = this.#records.get(id) ?? {};
      const isFurther = running.progressTotal > reached;
      const isAlone = tasks.length === 1;
      this.#records.set(id, {
        count: isFurther ? 0 : count + (isAlone ? 1 : 0),
        reached: Math.max(reached, running.progressTotal),
      });
      if (isFurther) this.#suspects.delete(id);
      else this.#suspects.add(id);
    }
  }

  /**
   * Returns the number of deaths of the worker that only this task can have caused, since it last progressed beyond its earlier attempts.
   */
  deathsCausedBy(taskId: number): number {
    return this.#records.get(taskId)?.count ?? 0;
  }

  /** Ends the suspicion of a task that has progressed beyond its earlier attempts; returns true if the task was a suspect until then. */
  clearSuspicion({ task, progressTotal }: RunningTask): boolean {
    return (
      progressTotal > (this.#records.get(task.id)?.reached ?? 0) && this.#suspects.delete(task.id)
    );
  }

  /**
   * Returns the ids of the tasks of which one may be started while the tasks `running` are running; `any` if no task is suspected of
   * killing the worker.
   */
  startableTaskIds(running: readonly RunningTask[]): 'any' | readonly number[] {
    if (this.#suspects.size === 0) return 'any';
    const isRunning = running.some(({ task }) => this.#suspects.has(task.id));
    return isRunning ? [] : [...this.#suspects];
  }

  /** Ends the suspicion of tasks that cannot be started, for example because they were canceled. */
  forgetSuspects(taskIds: readonly number[]): void {
    for (const id of taskIds) this.#suspects.delete(id);
  }

  /** Forgets a task that has ended or was deleted. */
  forgetTask(taskId: number): void {
    this.#records.delete(taskId);
    this.#suspects.delete(taskId);
  }
}

interface DeathRecord {
  /** The number of deaths that `WorkerDeaths.deathsCausedBy` returns. */
  readonly count: number;
  /** The furthest progress of the task so far (`RunningTask.progressTotal`). */
  readonly reached: number;
}
