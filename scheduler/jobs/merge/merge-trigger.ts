import type { Catalog } from '../../../engine/catalog/catalog.js';
import { toErrorValue } from '../../../engine/core/errors.js';
import type { Store } from '../../../engine/store/store.js';
import type { JobQueue } from '../../queue/queue.js';

/** Options of a `MergeTrigger`. */
export interface MergeTriggerOptions {
  readonly catalog: Catalog;
  readonly store: Store;
  readonly queue: Pick<JobQueue, 'perform'>;
  report(message: string): void;
  /** Time without a commit after which even few segments are merged, milliseconds; never if it is not finite. */
  readonly quietMs: number;
}

/**
 * Queues merges after commits, one at a time. A task is added only if the log shows that a merge is due, so a thousand small commits
 * cost a thousand checks but only as many tasks as there are merges.
 */
export class MergeTrigger {
  readonly #options: MergeTriggerOptions;
  /** Datasets to be checked. */
  readonly #due = new Set<number>();
  /** Datasets without a commit for `quietMs`. */
  readonly #quiet = new Set<number>();
  readonly #timers = new Map<number, NodeJS.Timeout>();
  /** Datasets whose merge failed permanently; they are not tried again before the next start. */
  readonly #failed = new Set<number>();
  #running: Promise<void> | null = null;
  #isClosing = false;

  constructor(options: MergeTriggerOptions) {
    this.#options = options;
  }

  /** To be called after a commit to a dataset. */
  committed(datasetId: number): void {
    if (this.#isClosing || this.#failed.has(datasetId)) return;
    this.#due.add(datasetId);
    this.#start();
    this.#startTimer(datasetId);
  }

  /** Checks all datasets; called at start. */
  async checkAll(): Promise<void> {
    for (const { id } of await this.#options.catalog.datasets.logVersions()) this.committed(id);
  }

  /** Resolves when no merge is running and none is due. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  /** Stops adding tasks. Merges that are queued or running are not affected. */
  close(): void {
    this.#isClosing = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }

  #startTimer(datasetId: number): void {
    const { quietMs } = this.#options;
    clearTimeout(this.#timers.get(datasetId));
    this.#quiet.delete(datasetId);
    if (!Number.isFinite(quietMs)) return;
    const timer = setTimeout(() => {
      this.#timers.delete(datasetId);
      if (this.#isClosing || this.#failed.has(datasetId)) return;
      this.#quiet.add(datasetId);
      this.#due.add(datasetId);
      this.#start();
    }, quietMs);
    this.#timers.set(datasetId, timer.unref());
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
      if (this.#due.size > 0 && !this.#isClosing) this.#start(); // added after the loop had ended
    });
  }

  async #run(): Promise<void> {
    for (const datasetId of this.#due) {
      this.#due.delete(datasetId);
      try {
        while (!this.#isClosing && (await this.#merge(datasetId)));
      } catch (error) {
        if (this.#isClosing) return;
        const { code, message } = toErrorValue(error);
        // The dataset or its segments were deleted, or an administrator canceled the merge. The next commit tries again.
        if (code === 'conflict' || code === 'not-found' || code === 'canceled') continue;
        // Other errors, such as a full disk, may be gone at the next commit.
        if (code === 'damaged' || code === 'internal') this.#failed.add(datasetId);
        this.#options.report(`dataset ${datasetId}: segments were not merged: ${message}`);
      } finally {
        this.#quiet.delete(datasetId);
      }
    }
  }

  /** Runs one merge; false if none is due. */
  async #merge(datasetId: number): Promise<boolean> {
    const dataset = await this.#options.catalog.datasets.get(datasetId);
    if (dataset?.availability !== 'available') return false;
    const isQuiet = this.#quiet.has(datasetId);
    if ((await this.#options.store.mergeable(datasetId, isQuiet)) === undefined) return false;
    await this.#options.queue.perform('merge', {
      description: 'Merge small segments',
      targetObjectId: datasetId,
      params: { is_quiet: isQuiet },
    });
    return true;
  }
}
