import type { DataFolder } from '../core/data-folder.js';
import { RecentMap } from '../core/recent-map.js';
import { logContents } from './log.js';
import type { LogState } from './log-state.js';
import { advanceState, replayLog } from './snapshot.js';

/** Maximum number of datasets whose state is kept. */
const maxStates = 16;

/**
 * The states of the logs that were replayed last, for a process that only reads them, so that each of its jobs reads the entries that are
 * new. A state is kept without the last entry unless that is known to be durable: until another one follows it, the process that commits may take it back,
 * if it cannot make it durable.
 */
export class SettledLogs {
  readonly #folder: DataFolder;
  readonly #states = new RecentMap<number, LogState>(maxStates);
  /** For each dataset, a promise that resolves when the last reading of its log has ended. */
  readonly #readings = new Map<number, Promise<unknown>>();

  constructor(folder: DataFolder) {
    this.#folder = folder;
  }

  /** The state after all versions of a log, as `replay` returns it. */
  replay(datasetId: number): Promise<LogState> {
    return this.#inTurn(datasetId, async () => {
      const { versions, checkpoints } = await logContents(this.#folder, datasetId);
      const knownState = this.#states.get(datasetId);
      const settledVersion = Math.max(versions.length - 2, knownState?.version ?? -1);
      // The log of a dataset that was archived meanwhile may be missing; a later checkpoint spares entries.
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

  /** Reads a log on up to a version that is durable, so that the next job need not, if an earlier state of it is kept. */
  async settle(datasetId: number, version: number): Promise<void> {
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
