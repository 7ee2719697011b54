import type { JsonObject } from '../../engine/core/types.js';
import type { TaskClass, TaskRow } from '../../engine/catalog/task-row.js';
import { progressMetadata } from './progress.js';
import type { Progress } from '../jobs/job.js';

/** At most four times a second: each time is a transaction. */
const progressMs = 250;

/**
 * What a running task takes up. Interactive tasks run in standard slots and, when those are taken, in slots of their own;
 * background tasks have slots of their own only.
 */
export type Slot = TaskClass;

/** A task between the moment it is taken from the queue and its end, or its way back. */
export class Running {
  readonly task: TaskRow;
  /** The fencing number: what the worker says of another attempt is ignored. */
  readonly attempt: number;
  readonly slot: Slot;
  /** `preparing` and `publishing` happen in this process, `working` in the worker. */
  phase: 'preparing' | 'working' | 'publishing' | 'ended' = 'preparing';
  /** It was canceled or deleted, or goes back into the queue because the server closes. */
  stopping: 'cancel' | 'return' | null = null;
  /** As `metadata.progress` shows it. */
  progress: JsonObject = {};
  /** Resolves when the task has ended or is queued again. */
  readonly over = Promise.withResolvers<void>();
  #startedAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #written: Promise<void> = Promise.resolve();

  constructor(task: TaskRow, slot: Slot) {
    this.task = task;
    this.attempt = task.attempts;
    this.slot = slot;
  }

  work(): void {
    this.phase = 'working';
    this.#startedAt = performance.now();
  }

  /** Notes how far the worker is; `write` is called with it a little later, with what comes until then. */
  note(progress: Progress, write: (progress: JsonObject) => Promise<void>): void {
    this.progress = progressMetadata(progress, performance.now() - this.#startedAt);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      // Losing one is harmless: the next comes, and the last is part of what publishing writes.
      this.#written = write(this.progress).catch(() => undefined);
    }, progressMs);
  }

  /** From here on no message and no progress of the worker counts any more. */
  async leaveWork(phase: 'publishing' | 'ended'): Promise<void> {
    this.phase = phase;
    clearTimeout(this.#timer);
    await this.#written;
  }
}
