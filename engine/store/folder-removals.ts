import type { DataFolder } from '../core/data-folder.js';
import { moveFile, removeTree, syncFolder } from '../core/files.js';
import { droppedLogName } from './verify-dataset.js';

interface RemovalOptions {
  readonly folder: DataFolder;
  /** Time in milliseconds for which the files of a dropped or archived dataset are kept for queries that have a snapshot of it. */
  readonly dropAfterMs: number;
  /** Calls `work` once after a time in milliseconds. */
  setTimer(work: () => void, ms: number): NodeJS.Timeout;
  exclusively(datasetId: number, work: () => Promise<void>): Promise<void>;
}

/** Removes the folders of dropped and archived datasets when running queries no longer need them. */
export class FolderRemovals {
  readonly #options: RemovalOptions;
  readonly #timers = new Map<number, NodeJS.Timeout>();

  constructor(options: RemovalOptions) {
    this.#options = options;
  }

  /** Renames a dataset's log immediately, and removes its folder after `dropAfterMs`. */
  async remove(datasetId: number): Promise<void> {
    const { folder, dropAfterMs, setTimer, exclusively } = this.#options;
    // Without its log the dataset no longer exists; its segments remain for running queries.
    const droppedLog = folder.path('datasets', String(datasetId), droppedLogName);
    await removeTree(droppedLog); // left over from an earlier archiving
    await moveFile(folder.deltaLog(datasetId), droppedLog);
    await syncFolder(folder.dataset(datasetId));
    if (dropAfterMs === 0) return removeTree(folder.dataset(datasetId));
    const timer = setTimer(() => {
      const removeNow = async (): Promise<void> => {
        if (this.#timers.get(datasetId) !== timer) return; // restored since the timer was set
        this.#timers.delete(datasetId);
        await removeTree(folder.dataset(datasetId));
      };
      // If the removal fails or the server restarts, the next sweep removes the files.
      void exclusively(datasetId, removeNow).catch(() => undefined);
    }, dropAfterMs);
    this.#timers.set(datasetId, timer.unref());
  }

  /** Cancels the removal of the folder of a dataset that was restored. */
  cancel(datasetId: number): void {
    clearTimeout(this.#timers.get(datasetId));
    this.#timers.delete(datasetId);
  }
}
