import type { TaskClass, TaskRow } from '../../engine/catalog/task-row.js';
import type { JsonObject } from '../../engine/core/types.js';
import type { Progress } from '../jobs/job.js';

/** Interval in milliseconds at which progress is written to the catalogue; each write is a transaction. */
const progressIntervalMs = 250;

/**
 * The kind of slot that a running task occupies. An interactive task uses a standard slot, or an interactive one if all standard slots are
 * occupied or its account has as many running tasks as it may have in them. Background tasks only use background slots.
 */
export type SlotKind = TaskClass;

/** An attempt at a task, from the moment it is claimed until the task has ended or is queued again. */
export class RunningTask {
  readonly task: TaskRow;
  /** The fencing token: messages of the worker about another attempt are ignored. */
  readonly attempt: number;
  readonly slot: SlotKind;
  /** Whether no other task of a user was running on the target when the attempt began. */
  readonly isAlone: boolean;
  /** `preparing` and `publishing` happen in the API process, `working` in the worker process. */
  phase: 'preparing' | 'working' | 'publishing' | 'ended' = 'preparing';
  /**
   * Why the task is being stopped. `cancel`: it was canceled or deleted. `requeue`: the server closes, and the task is to be queued again.
   */
  stopReason: 'cancel' | 'requeue' | null = null;
  /** The last progress, in the format of `metadata.progress`. */
  progress: JsonObject = {};
  /** A measure of progress, which grows with every record and byte. */
  progressTotal = 0;
  /** A promise that resolves when the task has ended or is queued again. */
  readonly finished = Promise.withResolvers<void>();
  readonly #leftWorkerController = new AbortController();
  #startedAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #written: Promise<void> = Promise.resolve();

  /** `others` are the tasks that were running when this attempt began. */
  constructor(task: TaskRow, slot: SlotKind, others: readonly RunningTask[]) {
    this.task = task;
    this.attempt = task.attempts;
    this.slot = slot;
    const { id, targetObjectId } = task;
    this.isAlone = others.every(
      (other) =>
        other.slot === 'background' ||
        other.task.id === id ||
        other.task.targetObjectId === null ||
        other.task.targetObjectId !== targetObjectId,
    );
  }

  /** A signal that aborts when the task leaves the worker process. */
  get leftWorker(): AbortSignal {
    return this.#leftWorkerController.signal;
  }

  /** Begins the phase `working`, from which the rate of records is computed. */
  startWork(): void {
    this.phase = 'working';
    this.#startedAt = performance.now();
  }

  /** Stores the progress, and calls `write` with the latest progress at most once per interval. */
  reportProgress(progress: Progress, write: (progress: JsonObject) => Promise<void>): void {
    this.progressTotal = progress.records + progress.bytes + (progress.fetchedBytes ?? 0);
    this.progress = progressMetadata(progress, performance.now() - this.#startedAt);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      // A failed write is harmless: more progress follows, and the final progress is written when the task ends.
      this.#written = write(this.progress).catch(() => undefined);
    }, progressIntervalMs);
  }

  /** Ends the phase `working`. No progress is written after the returned promise has resolved. */
  async leaveWork(phase: 'publishing' | 'ended'): Promise<void> {
    this.phase = phase;
    this.#leftWorkerController.abort();
    clearTimeout(this.#timer);
    await this.#written;
  }
}

/** Returns the value of `metadata.progress` (contract, section 10.1). */
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

/**
 * Returns the processed share of the bytes, or of the records if there are no bytes, in percent with one decimal; null if it is unknown.
 */
function percentDone({ records, recordsTotal, bytes, bytesTotal }: Progress): number | null {
  const share =
    bytesTotal > 0 ? bytes / bytesTotal : recordsTotal === null ? null : records / recordsTotal;
  if (share === null) return null;
  return Number.isNaN(share) ? 100 : Math.min(100, Math.round(share * 1_000) / 10);
}
