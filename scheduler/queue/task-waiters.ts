import type { TaskRow } from '../../engine/catalog/task-row.js';
import { canceledError, notFoundError } from '../../engine/core/errors.js';

type NotifyWaiter = (row: TaskRow | undefined) => void;

/** The callers that wait for the end of a task (`waitForEnd`) or for the result of a standalone task (`resultOfTask`). */
export class TaskWaiters {
  readonly #waiters = new Map<number, Set<NotifyWaiter>>();
  readonly #results = new Map<number, PromiseWithResolvers<unknown>>();

  /**
   * Resolves with the row of the task when it has ended. Rejects with `not-found` if the task is deleted, and with the signal's
   * reason if the signal aborts.
   */
  waitForEnd(taskId: number, signal?: AbortSignal): Promise<TaskRow> {
    return new Promise((resolve, reject) => {
      const waiters = this.#waiters.get(taskId) ?? new Set();
      this.#waiters.set(taskId, waiters);
      const notify: NotifyWaiter = (row) => {
        signal?.removeEventListener('abort', abort);
        if (row === undefined) reject(notFoundError());
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

  /** Returns the result of a task; all callers share one promise. It is rejected by `rejectResult`, `onTaskEnded` or `rejectAllResults`. */
  resultOfTask(taskId: number): Promise<unknown> {
    let result = this.#results.get(taskId);
    if (result === undefined) {
      this.#results.set(taskId, (result = Promise.withResolvers()));
      result.promise.catch(() => undefined); // the rejection is handled even if no caller waits any more
    }
    return result.promise;
  }

  resolveResult(taskId: number, result: unknown): void {
    this.#results.get(taskId)?.resolve(result);
  }

  rejectResult(taskId: number, error: unknown): void {
    this.#results.get(taskId)?.reject(error);
  }

  /**
   * Notifies the waiting callers that a task has ended; `row` is undefined if the row of the task was deleted. A result that is still
   * pending is rejected with `canceled` or `not-found`.
   */
  onTaskEnded(taskId: number, row: TaskRow | undefined): void {
    const waiters = this.#waiters.get(taskId);
    this.#waiters.delete(taskId);
    for (const notify of waiters ?? []) notify(row);
    this.rejectResult(taskId, row === undefined ? notFoundError() : canceledError());
    this.#results.delete(taskId);
  }

  /** Rejects all results that are still pending with `canceled`. */
  rejectAllResults(): void {
    for (const taskId of this.#results.keys()) this.rejectResult(taskId, canceledError());
  }
}
