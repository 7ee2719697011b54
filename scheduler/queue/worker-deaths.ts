import type { RunningTask } from './running-task.js';

/**
 * Finds the tasks that kill the worker process. A death counts against a task only if no other task was in the worker and the task had
 * not come further than in its earlier attempts. Whoever was in the worker without having come further is a suspect: it is started before
 * all others, one suspect at a time, and nothing else is started until it has come further or ended. The counts are not stored, so
 * that a death of the whole server, however its processes die one after the other, counts against nobody.
 */
export class WorkerDeaths {
  readonly #records = new Map<number, DeathRecord>();
  readonly #suspects = new Set<number>();

  /** Records that the worker died while it ran these tasks. */
  record(tasks: readonly RunningTask[]): void {
    for (const running of tasks) {
      const { id } = running.task;
      const { count = 0, reached = 0 } = this.#records.get(id) ?? {};
      const isFurther = running.reached > reached;
      const isAlone = tasks.length === 1;
      this.#records.set(id, {
        count: isFurther ? 0 : count + (isAlone ? 1 : 0),
        reached: Math.max(reached, running.reached),
      });
      if (isFurther) this.#suspects.delete(id);
      else this.#suspects.add(id);
    }
  }

  /** The deaths in succession that only this task can have caused. */
  count(taskId: number): number {
    return this.#records.get(taskId)?.count ?? 0;
  }

  /** Called when a task reports progress; returns true if it therefore is no suspect any more. */
  progressed({ task, reached }: RunningTask): boolean {
    return reached > (this.#records.get(task.id)?.reached ?? 0) && this.#suspects.delete(task.id);
  }

  /** The tasks of which one may be started while `running` are running; `any` if no task is suspected of killing the worker. */
  startable(running: readonly RunningTask[]): 'any' | readonly number[] {
    if (this.#suspects.size === 0) return 'any';
    const isRunning = running.some(({ task }) => this.#suspects.has(task.id));
    return isRunning ? [] : [...this.#suspects];
  }

  /** Ends the suspicion of tasks that cannot be started, for example because they were canceled. */
  forgetSuspects(taskIds: readonly number[]): void {
    for (const id of taskIds) this.#suspects.delete(id);
  }

  /** Called when a task has ended. */
  forget(taskId: number): void {
    this.#records.delete(taskId);
    this.#suspects.delete(taskId);
  }
}

interface DeathRecord {
  /** Deaths in succession that only the task can have caused. */
  readonly count: number;
  /** The furthest progress of the task so far (`RunningTask.reached`). */
  readonly reached: number;
}
