import type { Catalog } from '../../../engine/catalog/catalog.js';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { AppError, fromErrorValue, toErrorValue } from '../../../engine/core/errors.js';
import { removeTree } from '../../../engine/core/files.js';
import type { Mergeable, Segment, Store } from '../../../engine/store/store.js';
import type { FromWorker, ToWorker } from '../../worker/messages.js';
import type { Outcome } from '../../worker/pool.js';
import { oneAtATime } from '../../queue/one-at-a-time.js';
import { compactFolder } from './run.js';

/** What the log keeps with a compaction, so that a restart can bring the catalogue forward. */
export interface Compaction {
  readonly segments: number;
  readonly bytesMore: number;
}

/** What the compactor works with. */
export interface CompactorOptions {
  readonly catalog: Catalog;
  readonly store: Store;
  readonly data: DataFolder;
  send(message: ToWorker): void;
  /** Repeats work that only a failing disk can stop until it succeeds. */
  persist(work: () => Promise<void>): Promise<void>;
  report(message: string): void;
  /** After so long without a commit, also fewer segments are merged; never, if it is not finite. */
  readonly quietMs: number;
}

/** A worker that dies may have died of something else; twice it was this merge. */
const mostAttempts = 2;

/**
 * Merges small segments while nobody waits: one merge at a time, in the worker. It is no task and has no queue to keep, for
 * what is due can be read from the logs at any moment; so a merge that fails or is cut off is as if it had not begun. The
 * dataset's turn is taken only for the log entry: imports go on meanwhile, and what they add stays behind.
 */
export class Compactor {
  readonly #options: CompactorOptions;
  readonly #due = new Set<number>();
  readonly #quiet = new Set<number>();
  readonly #timers = new Map<number, NodeJS.Timeout>();
  /** Datasets with a merge that failed in a way that will not pass; until the next start. */
  readonly #givenUp = new Set<number>();
  #asked: { readonly attempt: number; resolve(outcome: Outcome<Segment> | 'lost'): void } | null =
    null;
  #attempts = 0;
  #running: Promise<void> | null = null;
  #isClosing = false;

  constructor(options: CompactorOptions) {
    this.#options = options;
  }

  /** Something was committed to a dataset, or may have been. */
  look(datasetId: number): void {
    if (this.#isClosing || this.#givenUp.has(datasetId)) return;
    this.#due.add(datasetId);
    this.#start();
    this.#whenQuiet(datasetId);
  }

  #whenQuiet(datasetId: number): void {
    const { quietMs } = this.#options;
    clearTimeout(this.#timers.get(datasetId));
    this.#quiet.delete(datasetId);
    if (!Number.isFinite(quietMs)) return;
    const timer = setTimeout(() => {
      this.#timers.delete(datasetId);
      if (this.#isClosing || this.#givenUp.has(datasetId)) return;
      this.#quiet.add(datasetId);
      this.#due.add(datasetId);
      this.#start();
    }, quietMs);
    this.#timers.set(datasetId, timer.unref());
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
      if (this.#due.size > 0 && !this.#isClosing) this.#start(); // it came in the last moment
    });
  }

  /** Looks at all datasets; at start. */
  async lookAtAll(): Promise<void> {
    for (const { id } of await this.#options.catalog.datasets.logVersions()) this.look(id);
  }

  hear(message: Extract<FromWorker, { type: 'compacted' }>): void {
    if (this.#asked?.attempt === message.attempt) this.#asked.resolve(message.outcome);
  }

  /** The worker died with what it was merging. */
  lost(): void {
    this.#asked?.resolve('lost');
  }

  /** Nothing is merged when nothing is left to do. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  /** Stops; an entry that is being written is written to its end. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.lost();
    await this.#running;
  }

  async #run(): Promise<void> {
    for (const datasetId of this.#due) {
      this.#due.delete(datasetId);
      try {
        while (!this.#isClosing && (await this.#compact(datasetId)));
      } catch (error) {
        if (this.#isClosing) return;
        const { code, message } = toErrorValue(error);
        if (code === 'conflict') continue; // the dataset was deleted, or its segments were
        // A disk may have room again when the next commit comes; the rest stays as it is.
        if (code === 'damaged' || code === 'internal') this.#givenUp.add(datasetId);
        this.#options.report(`dataset ${datasetId}: segments were not merged: ${message}`);
      } finally {
        this.#quiet.delete(datasetId);
      }
    }
  }

  /** One merge; false when none is due. */
  async #compact(datasetId: number): Promise<boolean> {
    const { store, data } = this.#options;
    const mergeable = await store.mergeable(datasetId, this.#quiet.has(datasetId));
    if (mergeable === undefined) return false;
    for (let left = mostAttempts; left > 0; left--) {
      const attempt = ++this.#attempts;
      const folder = compactFolder(data, attempt);
      try {
        const outcome = await this.#merge(datasetId, attempt, mergeable);
        if (this.#isClosing) return false;
        if (outcome === 'lost') continue;
        if (!outcome.ok) throw fromErrorValue(outcome.error);
        crashpoint('compact.merged');
        await this.#publish(datasetId, mergeable, outcome.value, folder);
        return true;
      } finally {
        await removeTree(folder).catch(() => undefined); // or at the next start
      }
    }
    throw new AppError('internal', `the worker process ended ${mostAttempts} times over it`);
  }

  #merge(
    datasetId: number,
    attempt: number,
    { segments, columns }: Mergeable,
  ): Promise<Outcome<Segment> | 'lost'> {
    const asked = Promise.withResolvers<Outcome<Segment> | 'lost'>();
    this.#asked = { attempt, resolve: asked.resolve };
    this.#options.send({ type: 'compact', job: { attempt, datasetId, columns, segments } });
    return asked.promise;
  }

  async #publish(
    datasetId: number,
    { segments }: Mergeable,
    merged: Segment,
    folder: string,
  ): Promise<void> {
    const { catalog, store, persist } = this.#options;
    const bytesMore = segments.reduce((more, { bytes }) => more - bytes, merged.bytes);
    const compaction: Compaction = { segments: segments.length, bytesMore };
    const remove = segments.map(({ path }) => path);
    const change = { remove, add: [merged], info: { compaction } };
    await oneAtATime(datasetId, async () => {
      const { version } = await store.rewrite(datasetId, change, folder);
      crashpoint('compact.before-catalog');
      await persist(() => catalog.datasets.rewritten(datasetId, version, bytesMore));
      crashpoint('compact.after-catalog');
    });
  }
}
