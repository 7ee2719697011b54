import type { Catalog } from '../../engine/catalog/catalog.js';
import { toErrorValue } from '../../engine/core/errors.js';
import type { Store } from '../../engine/store/store.js';
import { completeDeletedCommits } from '../jobs/deleted-commits.js';
import { jobs as declaredJobs, type Jobs } from '../jobs/index.js';
import { isInArchive, lostVersionsError } from '../jobs/visible-data.js';
import { withDatasetLock } from '../jobs/dataset-lock.js';

interface ReconciliationOptions {
  readonly catalog: Catalog;
  readonly store: Store;
  /** Reports a problem to the operator. */
  report(message: string): void;
  readonly jobs?: Jobs;
}

/**
 * Makes the catalogue agree with the logs of the datasets, which are authoritative (threat C2b). A log that is ahead of the catalogue,
 * for example because the process was killed between writing the log and writing the catalogue, is applied to the catalogue. A log that
 * is unreadable or behind the catalogue means that files were lost: the server refuses to open the dataset, does not change its files,
 * and makes it available again when they have been restored.
 */
export class Reconciliation {
  readonly #options: ReconciliationOptions;
  readonly #refusals = new Map<number, string>();

  constructor(options: ReconciliationOptions) {
    this.#options = options;
  }

  /** Checks all datasets and removes those that were deleted; called at start. */
  async reconcileAll(): Promise<void> {
    const { catalog, store, report } = this.#options;
    const logVersions = await catalog.datasets.logVersions();
    for (const { id } of logVersions) await this.#check(id);
    // Removes deleted datasets whose files still exist because of a kill or a failing disk.
    const droppedIds = await catalog.datasets.dropped();
    for (const id of droppedIds) {
      try {
        await store.drop(id);
        await catalog.datasets.forget(id);
      } catch (error) {
        report(`deleted dataset ${id}: ${toErrorValue(error).message}; the next start tries again`);
      }
    }
    // A dataset that the catalogue does not know may be newer than a catalogue that was restored from a backup, so it is not removed.
    const ids = new Set([...logVersions.map(({ id }) => id), ...droppedIds]);
    for (const id of await store.datasets()) {
      if (!ids.has(id)) report(`datasets/${id} holds a dataset that the catalogue does not know`);
    }
  }

  /** Returns the reason why the server refuses to open a dataset; undefined if it does not. */
  refusalReason(datasetId: number): string | undefined {
    return this.#refusals.get(datasetId);
  }

  /**
   * Checks the refused datasets again; returns the ids of those that are refused no longer, because they are available, archived again or
   * deleted.
   */
  async recheckRefused(): Promise<readonly number[]> {
    const recoveredIds: number[] = [];
    for (const id of this.#refusals.keys()) {
      await this.#check(id);
      if (!this.#refusals.has(id)) recoveredIds.push(id);
    }
    return recoveredIds;
  }

  async #check(id: number): Promise<void> {
    const { catalog, store, report } = this.#options;
    const dataset = await catalog.datasets.get(id);
    if (dataset === undefined) return void this.#refusals.delete(id);
    const { logVersion, availability } = dataset;
    if (isInArchive(dataset)) return this.#checkArchive(id, availability);
    try {
      await this.#replayLog(id, logVersion);
      await completeDeletedCommits(catalog, store, id).catch((error: unknown) =>
        report(`deleted commits of dataset ${id}: ${toErrorValue(error).message}`),
      );
      if (this.#refusals.delete(id)) report(`dataset ${id} is available again`);
      if (availability !== 'unavailable') return;
      await catalog.datasets.update(id, { availability: 'available' });
    } catch (error) {
      const reason = toErrorValue(error).message;
      if (this.#refusals.get(id) === reason) return;
      this.#refusals.set(id, reason);
      report(
        `dataset ${id} is unavailable: ${reason}. Nothing of it is changed or removed; ` +
          `restore datasets/${id} from a backup and it becomes available by itself`,
      );
      await catalog.datasets.update(id, { availability: 'unavailable' });
    }
  }

  /**
   * Checks that an archived dataset has its archive, and removes a folder of the dataset that a kill has left: the archive is complete
   * before the catalogue says `archived`, and a restored folder is not used before the catalogue says `available`.
   */
  async #checkArchive(id: number, availability: string): Promise<void> {
    const { catalog, store, report } = this.#options;
    try {
      // The lock excludes a restore that is being published.
      await withDatasetLock(id, async () => {
        const dataset = await catalog.datasets.get(id);
        if (dataset !== undefined && isInArchive(dataset)) await store.retire(id);
      });
      if (this.#refusals.delete(id)) report(`the archive of dataset ${id} is there again`);
    } catch (error) {
      const reason = toErrorValue(error).message;
      if (this.#refusals.get(id) === reason) return;
      this.#refusals.set(id, reason);
      report(`dataset ${id} is ${availability}: ${reason}; restore it from a backup`);
    }
  }

  async #replayLog(datasetId: number, knownVersion: number): Promise<void> {
    const { catalog, store, jobs = declaredJobs } = this.#options;
    const version = await store.version(datasetId);
    if (version < knownVersion) throw lostVersionsError(datasetId, version, knownVersion);
    for await (const entry of store.history(datasetId, knownVersion + 1)) {
      // The first entry of a log only describes the table, and no kind of job has written it.
      const { version, columns, segmentColumns } = entry;
      for (const { logEntry } of jobs) {
        const info = logEntry && entry.info[logEntry.key];
        if (info === undefined) continue;
        await logEntry!.replay({ catalog, datasetId, version, columns, segmentColumns, info });
      }
    }
  }
}
