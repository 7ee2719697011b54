import type { DataFolder } from '../core/data-folder.js';
import { moveFile, removeTree, syncFolder } from '../core/files.js';
import { droppedLog } from './verify-dataset.js';

/** Dependencies of `FolderRemovals`. */
interface RemovalOptions {
  readonly folder: DataFolder;
  /** How long the files of a dropped dataset stay for queries that have a snapshot of it. */
  readonly dropAfterMs: number;
  exclusively(datasetId: number, work: () => Promise<void>): Promise<void>;
}

/** Removes the folders of dropped and archived datasets when queries that have begun no longer need them. */
export class FolderRemovals {
  readonly #options: RemovalOptions;
  readonly #timers = new Map<number, NodeJS.Timeout>();

  constructor(options: RemovalOptions) {
    this.#options = options;
  }

  /** Removes a dataset's log at once, and its folder later. */
  async remove(datasetId: number): Promise<void> {
    const { folder, dropAfterMs, exclusively } = this.#options;
    // Without its log the dataset no longer exists; its segments remain for running queries.
    const mark = folder.path('datasets', String(datasetId), droppedLog);
    await removeTree(mark); // left by an earlier archive
    await moveFile(folder.log(datasetId), mark);
    await syncFolder(folder.dataset(datasetId));
    if (dropAfterMs === 0) return removeTree(folder.dataset(datasetId));
    const timer = setTimeout(() => {
      const removeNow = async (): Promise<void> => {
        if (this.#timers.get(datasetId) !== timer) return; // restored meanwhile
        this.#timers.delete(datasetId);
        await removeTree(folder.dataset(datasetId));
      };
      // The next sweep removes what a failure or a restart leaves.
      void exclusively(datasetId, removeNow).catch(() => undefined);
    }, dropAfterMs);
    this.#timers.set(datasetId, timer.unref());
  }

  /** Keeps the folder of a dataset that is being restored. */
  cancel(datasetId: number): void {
    clearTimeout(this.#timers.get(datasetId));
    this.#timers.delete(datasetId);
  }
}
