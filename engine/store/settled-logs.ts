import type { DataFolder } from '../core/data-folder.js';
import { LruCache } from '../core/recent-map.js';
import { readLogContents } from './log.js';
import type { LogState } from './log-state.js';
import { advanceState, replayLog } from './snapshot.js';

/** Maximum number of datasets whose state is cached. */
const maxCachedStates = 16;

/**
 * Caches the states of the most recently replayed logs, in a process that only reads them, so that each of its jobs reads only new entries.
 * Unless the last entry is known to be durable, the cached state excludes it: until another entry follows, the committing process may take
 * it back if it cannot make it durable.
 */
export class DurableLogStates {
  readonly #folder: DataFolder;
  readonly #states = new LruCache<number, LogState>(maxCachedStates);
  /** For each dataset, a promise that resolves when the last reading of its log has ended. */
  readonly #readings = new Map<number, Promise<unknown>>();

  constructor(folder: DataFolder) {
    this.#folder = folder;
  }

  /** Returns the state after all versions of a log. */
  replay(datasetId: number): Promise<LogState> {
    return this.#inTurn(datasetId, async () => {
      const { versions, checkpoints } = await readLogContents(this.#folder, datasetId);
      const knownState = this.#states.get(datasetId);
      const settledVersion = Math.max(versions.length - 2, knownState?.version ?? -1);
      // The cached state is not used if the log is shorter, because the dataset may have been archived since, or if there is a later
      // checkpoint, which saves reading entries.
      const isLatest =
        knownState !== undefined &&
        knownState.version < versions.length &&
        !checkpoints.some((one) => one > knownState.version && one <= settledVersion);
      const state = await replayLog(
        this.#folder,
        datasetId,
        isLatest ? settledVersion : versions.length - 2,
        isLatest ? knownState : undefined,
      );
      if (state.version >= 0) this.#states.set(datasetId, state);
      return advanceState(this.#folder, datasetId, state);
    });
  }

  /**
   * Advances a cached state of a log to a version that is durable, so that the next job need not read these entries. Does nothing if no
   * state is cached.
   */
  async advanceTo(datasetId: number, version: number): Promise<void> {
    await this.#inTurn(datasetId, async () => {
      const state = this.#states.get(datasetId);
      if (state === undefined || state.version >= version) return;
      this.#states.set(datasetId, await advanceState(this.#folder, datasetId, state, version));
    });
  }

  async #inTurn<T>(datasetId: number, read: () => Promise<T>): Promise<T> {
    const before = this.#readings.get(datasetId);
    const reading = (before ?? Promise.resolve()).then(read, read);
    this.#readings.set(datasetId, reading);
    try {
      return await reading;
    } finally {
      if (this.#readings.get(datasetId) === reading) this.#readings.delete(datasetId);
    }
  }
}
