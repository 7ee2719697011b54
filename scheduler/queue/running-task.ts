import type { TaskClass, TaskRow } from '../../engine/catalog/task-row.js';
import type { JsonObject } from '../../engine/core/types.js';
import type { Progress } from '../jobs/job.js';

/** Interval at which progress is written to the catalogue, milliseconds; each write is a transaction. */
const progressMs = 250;

/**
 * The kind of slot that a running task occupies. Interactive tasks use standard slots, and slots of their own when all standard
 * ones are occupied. Background tasks use slots of their own only.
 */
export type Slot = TaskClass;

/** An attempt at a task, from the moment it is claimed until the task has ended or is queued again. */
export class RunningTask {
  readonly task: TaskRow;
  /** The fencing token: messages of the worker about another attempt are ignored. */
  readonly attempt: number;
  readonly slot: Slot;
  /** `preparing` and `publishing` happen in this process, `working` in the worker process. */
  phase: 'preparing' | 'working' | 'publishing' | 'ended' = 'preparing';
  /** `cancel`: the task was canceled or deleted. `requeue`: the server closes and the task is to be queued again. */
  stopping: 'cancel' | 'requeue' | null = null;
  /** The last progress, in the format of `metadata.progress`. */
  progress: JsonObject = {};
  /** The progress of the task, which grows with every record and byte. */
  reached = 0;
  /** Resolves when the task has ended or is queued again. */
  readonly over = Promise.withResolvers<void>();
  readonly #left = new AbortController();
  #startedAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #written: Promise<void> = Promise.resolve();

  constructor(task: TaskRow, slot: Slot) {
    this.task = task;
    this.attempt = task.attempts;
    this.slot = slot;
  }

  /** Aborts when the task leaves the worker. */
  get left(): AbortSignal {
    return this.#left.signal;
  }

  /** Begins the phase `working`, from which the rate of records is computed. */
  startWork(): void {
    this.phase = 'working';
    this.#startedAt = performance.now();
  }

  /** Stores the progress and calls `write` with the latest one at most once per interval. */
  report(progress: Progress, write: (progress: JsonObject) => Promise<void>): void {
    this.reached = progress.records + progress.bytes + (progress.fetchedBytes ?? 0);
    this.progress = progressMetadata(progress, performance.now() - this.#startedAt);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      // A failed write is harmless: more progress follows, and the last one is written when the task ends.
      this.#written = write(this.progress).catch(() => undefined);
    }, progressMs);
  }

  /** Ends the phase `working`. No progress is written after the returned promise has resolved. */
  async leaveWork(phase: 'publishing' | 'ended'): Promise<void> {
    this.phase = phase;
    this.#left.abort();
    clearTimeout(this.#timer);
    await this.#written;
  }
}

/** The value of `metadata.progress` (contract, section 10.1). */
function progressMetadata(progress: Progress, elapsedMs: number): JsonObject {
  const { records, recordsTotal, bytes, bytesTotal, errors, fetchedBytes } = progress;
  return {
    processed_records: records,
    records_per_second: elapsedMs > 0 ? Math.round((records * 10_000) / elapsedMs) / 10 : 0,
    total_records: recordsTotal,
    processed_bytes: bytes,
    total_bytes: bytesTotal,
    ...(fetchedBytes !== undefined && { fetched_bytes: fetchedBytes }),
    percent: percentDone(progress),
    errors: { records: errors, fields: 0, examples: [] },
  };
}

/** The share of the bytes, or of the records if there are no bytes, in percent with one decimal; null if it is unknown. */
function percentDone({ records, recordsTotal, bytes, bytesTotal }: Progress): number | null {
  const share =
    bytesTotal > 0 ? bytes / bytesTotal : recordsTotal === null ? null : records / recordsTotal;
  if (share === null) return null;
  return Number.isNaN(share) ? 100 : Math.min(100, Math.round(share * 1_000) / 10);
}
