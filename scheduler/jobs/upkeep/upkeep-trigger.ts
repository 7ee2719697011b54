import type { Catalog } from '../../../engine/catalog/catalog.js';
import { toErrorValue } from '../../../engine/core/errors.js';
import type { Store } from '../../../engine/store/store.js';
import type { TaskQueue } from '../job.js';

interface UpkeepTriggerOptions {
  readonly catalog: Catalog;
  readonly store: Store;
  readonly queue: TaskQueue<string, unknown>;
  report(message: string): void;
  now(): number;
  /** Time in milliseconds without a commit after which even a few segments are merged; if it is not finite, they never are. */
  readonly quietMs: number;
}

/**
 * The time in milliseconds for which upkeep that failed with the code `damaged` or `internal` is not tried again: after the first failure,
 * and at most after repeated failures.
 */
const firstPauseMs = 30 * 60_000;
const longestPauseMs = 86_400_000;

/**
 * Queues merges, vacuums and other upkeep of datasets after commits, one task at a time. A task is added only if the log shows that it is
 * due, so a thousand small commits cause up to a thousand checks but only the necessary tasks.
 */
export class UpkeepTrigger {
  readonly #options: UpkeepTriggerOptions;
  /** Datasets that are due for a check. */
  readonly #dueDatasets = new Set<number>();
  /** Datasets that have had no commit for `quietMs` and whose upkeep has not been checked since. */
  readonly #quietDatasets = new Set<number>();
  readonly #timers = new Map<number, NodeJS.Timeout>();
  /** The upkeep, as `<kind> <dataset>`, that failed with the code `damaged` or `internal`; it is not tried again before `until`. */
  readonly #pauseByUpkeep = new Map<string, { readonly pauseMs: number; readonly until: number }>();
  #loop: Promise<void> | null = null;
  #isClosing = false;

  constructor(options: UpkeepTriggerOptions) {
    this.#options = options;
  }

  /** Has the upkeep of a dataset checked, now and when the dataset has had no commit for `quietMs`. Not only called after commits. */
  onDatasetCommitted(datasetId: number): void {
    if (this.#isClosing) return;
    this.#dueDatasets.add(datasetId);
    this.#start();
    this.#startTimer(datasetId);
  }

  /** Checks all datasets: files of earlier versions become removable with time. */
  async checkAllDatasets(): Promise<void> {
    for (const { id } of await this.#options.catalog.datasets.logVersions())
      this.onDatasetCommitted(id);
  }

  /** Resolves when no upkeep is running and none is due. */
  async whenIdle(): Promise<void> {
    while (this.#loop !== null) await this.#loop;
  }

  /** Stops adding tasks. Tasks that are queued or running are not affected. */
  close(): void {
    this.#isClosing = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }

  #startTimer(datasetId: number): void {
    const { quietMs } = this.#options;
    clearTimeout(this.#timers.get(datasetId));
    this.#quietDatasets.delete(datasetId);
    if (!Number.isFinite(quietMs)) return;
    const timer = setTimeout(() => {
      this.#timers.delete(datasetId);
      if (this.#isClosing) return;
      this.#quietDatasets.add(datasetId);
      this.#dueDatasets.add(datasetId);
      this.#start();
    }, quietMs);
    this.#timers.set(datasetId, timer.unref());
  }

  #start(): void {
    this.#loop ??= this.#runDueUpkeep().finally(() => {
      this.#loop = null;
      if (this.#dueDatasets.size > 0 && !this.#isClosing) this.#start(); // datasets that were added after the loop had ended
    });
  }

  async #runDueUpkeep(): Promise<void> {
    for (const datasetId of this.#dueDatasets) {
      this.#dueDatasets.delete(datasetId);
      for (const upkeepKind of upkeepKinds) await this.#repeatUpkeep(upkeepKind, datasetId);
      this.#quietDatasets.delete(datasetId);
      if (this.#isClosing) return;
    }
  }

  /** Runs one kind of upkeep for a dataset if it is due and not paused, and again while it is due if the kind `repeats`. */
  async #repeatUpkeep(upkeepKind: UpkeepKind, datasetId: number): Promise<void> {
    const key = `${upkeepKind.kind} ${datasetId}`;
    const pause = this.#pauseByUpkeep.get(key);
    if (pause !== undefined && this.#options.now() < pause.until) return;
    try {
      // That nothing is due ends no pause: some upkeep is due only when the dataset is quiet.
      while (!this.#isClosing && (await this.#runUpkeepTask(upkeepKind, datasetId))) {
        this.#pauseByUpkeep.delete(key);
        if (!upkeepKind.repeats) break;
      }
    } catch (error) {
      if (this.#isClosing) return;
      const { code, message } = toErrorValue(error);
      // The dataset was deleted, its segments have changed, or an administrator canceled the task. The upkeep is tried again at the next
      // check.
      if (code === 'conflict' || code === 'not-found' || code === 'canceled') return;
      // Errors with other codes, such as a full disk, may be resolved by the time of the next check. Repeated failures double the pause.
      if (code === 'damaged' || code === 'internal') {
        const pauseMs = Math.min(pause ? 2 * pause.pauseMs : firstPauseMs, longestPauseMs);
        this.#pauseByUpkeep.set(key, { pauseMs, until: this.#options.now() + pauseMs });
      }
      this.#options.report(`dataset ${datasetId}: ${upkeepKind.failure}: ${message}`);
    }
  }

  /** Runs one task of a kind of upkeep; returns false if none is due or the dataset is not available. */
  async #runUpkeepTask(
    { kind, description, isDue }: UpkeepKind,
    datasetId: number,
  ): Promise<boolean> {
    const { catalog, store, queue } = this.#options;
    const dataset = await catalog.datasets.get(datasetId);
    if (dataset?.availability !== 'available') return false;
    const isQuiet = this.#quietDatasets.has(datasetId);
    if (!(await isDue(store, datasetId, isQuiet))) return false;
    await queue.enqueueAndWait(kind, {
      description,
      targetObjectId: datasetId,
      params: { is_quiet: isQuiet },
    });
    return true;
  }
}

/** A kind of maintenance that the server does on a dataset by itself, as a background task. */
interface UpkeepKind {
  /** The kind of job that does the upkeep. */
  readonly kind: string;
  /** The description of the upkeep's tasks. */
  readonly description: string;
  /** The message for the operator when the upkeep fails; the reason follows it. */
  readonly failure: string;
  /** Whether the upkeep may be due again immediately after it was done. */
  readonly repeats: boolean;
  isDue(store: Store, datasetId: number, isQuiet: boolean): Promise<boolean>;
}

/** All kinds of upkeep, in the order in which they are run. */
const upkeepKinds: readonly UpkeepKind[] = [
  {
    kind: 'merge',
    description: 'Merge small segments',
    failure: 'segments were not merged',
    repeats: true,
    isDue: async (store, id, isQuiet) => (await store.nextMerge(id, isQuiet)) !== undefined,
  },
  {
    kind: 'vacuum',
    description: 'Remove files of earlier versions',
    failure: 'files of earlier versions were not removed',
    repeats: false,
    isDue: (store, id) => store.isVacuumDue(id),
  },
  {
    kind: 'checkpoint',
    description: 'Write a checkpoint of the log',
    failure: 'no checkpoint of the log was written',
    repeats: false,
    isDue: (store, id) => store.isCheckpointDue(id),
  },
];
