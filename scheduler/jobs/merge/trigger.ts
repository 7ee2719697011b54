import type { Catalog } from '../../../engine/catalog/catalog.js';
import { toErrorValue } from '../../../engine/core/errors.js';
import type { Store } from '../../../engine/store/store.js';
import type { JobQueue } from '../../queue/queue.js';

/** What the trigger works with. */
export interface MergeTriggerOptions {
  readonly catalog: Catalog;
  readonly store: Store;
  readonly queue: Pick<JobQueue, 'perform'>;
  report(message: string): void;
  /** After so long without a commit, fewer segments are merged, too; never, if it is not finite. */
  readonly quietMs: number;
}

/**
 * Queues merges after commits: one at a time, and a task only where a merge is due, which is read from the log. A thousand
 * small commits cost a thousand such looks, and as many tasks as there are merges.
 */
export class MergeTrigger {
  readonly #options: MergeTriggerOptions;
  readonly #due = new Set<number>();
  readonly #quiet = new Set<number>();
  readonly #timers = new Map<number, NodeJS.Timeout>();
  /** Datasets whose merge failed for a reason that will not pass; they are left alone until the next start. */
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

  /** Looks at all datasets; at start. */
  async lookAtAll(): Promise<void> {
    for (const { id } of await this.#options.catalog.datasets.logVersions()) this.committed(id);
  }

  /** Resolves when no merge is running and none is due. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  /** Stops; merges that are queued or running are the queue's business. */
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
        // The dataset or its segments were deleted, or an administrator canceled the merge: the next commit tries again.
        if (code === 'conflict' || code === 'not-found' || code === 'canceled') continue;
        // A disk may have room again when the next commit comes.
        if (code === 'damaged' || code === 'internal') this.#failed.add(datasetId);
        this.#options.report(`dataset ${datasetId}: segments were not merged: ${message}`);
      } finally {
        this.#quiet.delete(datasetId);
      }
    }
  }

  /** Waits for one merge; false when none is due. */
  async #merge(datasetId: number): Promise<boolean> {
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
