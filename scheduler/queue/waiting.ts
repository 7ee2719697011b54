import type { TaskRow, TaskStatus } from '../../engine/catalog/task-row.js';
import { notFound } from '../../engine/core/errors.js';

/** Whether a task in this status has ended; there is no way back. */
export function isTerminal(status: TaskStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'canceled';
}

/** Those who wait for a task's end, so that nobody has to ask again and again. */
export class Waiters {
  readonly #waiters = new Map<number, Set<(row: TaskRow | undefined) => void>>();

  /**
   * Resolves with the row that `tell` brings; rejects when the task is deleted, or with the
   * signal's reason when the caller gives up.
   */
  wait(taskId: number, signal?: AbortSignal): Promise<TaskRow> {
    return new Promise((resolve, reject) => {
      const waiters = this.#waiters.get(taskId) ?? new Set();
      this.#waiters.set(taskId, waiters);
      const told = (row: TaskRow | undefined): void => {
        signal?.removeEventListener('abort', gaveUp);
        if (row === undefined) reject(notFound());
        else resolve(row);
      };
      const gaveUp = (): void => {
        waiters.delete(told);
        if (waiters.size === 0) this.#waiters.delete(taskId);
        reject(signal?.reason as Error);
      };
      if (signal?.aborted) return gaveUp();
      signal?.addEventListener('abort', gaveUp, { once: true });
      waiters.add(told);
    });
  }

  /** The task has ended; without a row it was deleted, together with its dataset. */
  tell(taskId: number, row: TaskRow | undefined): void {
    const waiters = this.#waiters.get(taskId);
    this.#waiters.delete(taskId);
    for (const told of waiters ?? []) told(row);
  }
}
