import type { TaskRow, TaskStatus } from '../../engine/catalog/task-row.js';
import { canceled, notFound } from '../../engine/core/errors.js';

/** Whether a task with this status has ended. The status of such a task never changes again. */
export function isTerminal(status: TaskStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'canceled';
}

type Notify = (row: TaskRow | undefined) => void;

/** The callers that wait for the end of a task (`wait`) or for the result of a background task (`result`). */
export class TaskWaiters {
  readonly #waiters = new Map<number, Set<Notify>>();
  readonly #results = new Map<number, PromiseWithResolvers<unknown>>();

  /**
   * Resolves with the row of the task when it has ended. Rejects with `not-found` if the task is deleted, and with the signal's
   * reason if the signal aborts.
   */
  wait(taskId: number, signal?: AbortSignal): Promise<TaskRow> {
    return new Promise((resolve, reject) => {
      const waiters = this.#waiters.get(taskId) ?? new Set();
      this.#waiters.set(taskId, waiters);
      const notify: Notify = (row) => {
        signal?.removeEventListener('abort', abort);
        if (row === undefined) reject(notFound());
        else resolve(row);
      };
      const abort = (): void => {
        waiters.delete(notify);
        if (waiters.size === 0) this.#waiters.delete(taskId);
        reject(signal?.reason as Error);
      };
      if (signal?.aborted) return abort();
      signal?.addEventListener('abort', abort, { once: true });
      waiters.add(notify);
    });
  }

  /** The result of a task; all callers share one promise. It rejects as `fail`, `ended` or `close` says. */
  result(taskId: number): Promise<unknown> {
    let result = this.#results.get(taskId);
    if (result === undefined) {
      this.#results.set(taskId, (result = Promise.withResolvers()));
      result.promise.catch(() => undefined); // every caller may have left
    }
    return result.promise;
  }

  /** Resolves the result of a task. */
  succeed(taskId: number, result: unknown): void {
    this.#results.get(taskId)?.resolve(result);
  }

  /** Rejects the result of a task. */
  fail(taskId: number, error: unknown): void {
    this.#results.get(taskId)?.reject(error);
  }

  /**
   * To be called when a task has ended, with its row, or with undefined if it was deleted with its dataset. A result that is still
   * pending is rejected with `canceled` or `not-found`.
   */
  ended(taskId: number, row: TaskRow | undefined): void {
    const waiters = this.#waiters.get(taskId);
    this.#waiters.delete(taskId);
    for (const notify of waiters ?? []) notify(row);
    this.fail(taskId, row === undefined ? notFound() : canceled());
    this.#results.delete(taskId);
  }

  /** Rejects all results that are still pending with `canceled`. */
  close(): void {
    for (const taskId of this.#results.keys()) this.fail(taskId, canceled());
  }
}
