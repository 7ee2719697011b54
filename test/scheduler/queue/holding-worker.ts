import type { SchedulerOptions } from '../../../scheduler/queue/scheduler.js';
import type { WorkerEvents } from '../../../scheduler/worker/worker-supervisor.js';
import { pollUntil } from '../../until.js';
import type { Lake } from '../lake.js';

/** A worker that runs nothing: it keeps the tasks that it receives until the test decides how they end. */
export class HoldingWorker {
  /** The attempt numbers of the tasks that the worker has, by task id. */
  readonly attemptByTaskId = new Map<number, number>();
  #events: WorkerEvents = { message: () => undefined, lost: () => undefined };

  /** The option of the scheduler that starts this worker. */
  readonly start: NonNullable<SchedulerOptions['startWorker']> = (_config, _timeout, events) => {
    this.attemptByTaskId.clear();
    this.#events = events;
    return {
      pid: null,
      send: (message) => {
        if (message.type === 'run') this.attemptByTaskId.set(message.taskId, message.attempt);
        if (message.type !== 'cancel') return;
        const error = { code: 'canceled', message: 'canceled' } as const;
        const { taskId } = message;
        const attempt = this.#removeTask(taskId);
        setImmediate(() =>
          events.message({ type: 'failed', taskId, attempt, error, metadata: null }),
        );
      },
      kill: () => false,
      close: async () => undefined,
    };
  };

  /** Lets the worker die with its tasks. */
  die(): void {
    this.attemptByTaskId.clear();
    this.#events.lost('signal SIGKILL', undefined);
  }

  /** From now on, the scheduler hears nothing of the worker. */
  disconnect(): void {
    this.#events = { message: () => undefined, lost: () => undefined };
  }

  reportProgress(taskId: number, records: number): void {
    const progress = { records, recordsTotal: null, bytes: 0, bytesTotal: 0, errors: 0 };
    const attempt = this.attemptByTaskId.get(taskId)!;
    this.#events.message({ type: 'progress', taskId, attempt, progress });
  }

  /** Ends a task with a result. */
  finish(taskId: number, result: unknown): void {
    this.#events.message({ type: 'done', taskId, attempt: this.#removeTask(taskId), result });
  }

  /** Resolves when the worker has exactly the given tasks and still has them after some turns of the event loop. */
  async waitForTasks(lake: Lake, ...taskIds: readonly number[]): Promise<void> {
    const expectedIds = String(taskIds.toSorted());
    const hasTasks = (): boolean =>
      String([...this.attemptByTaskId.keys()].toSorted()) === expectedIds;
    for (let turns = 0; turns < 20; turns++) {
      await pollUntil(hasTasks);
      await lake.catalog.tasks.get(0);
      await new Promise(setImmediate);
    }
    if (!hasTasks())
      throw new Error(
        `the worker has ${[...this.attemptByTaskId.keys()].join(', ')}, not ${expectedIds}`,
      );
  }

  /** Ends a task with an error. */
  fail(taskId: number, message: string): void {
    const error = { code: 'input', message } as const;
    const attempt = this.#removeTask(taskId);
    this.#events.message({ type: 'failed', taskId, attempt, error, metadata: null });
  }

  #removeTask(taskId: number): number {
    const attempt = this.attemptByTaskId.get(taskId) ?? 0;
    this.attemptByTaskId.delete(taskId);
    return attempt;
  }
}
