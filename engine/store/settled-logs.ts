import type { DataFolder } from '../core/data-folder.js';
import { RecentMap } from '../core/recent-map.js';
import { logContents } from './log.js';
import type { LogState } from './log-state.js';
import { advanceState, replayLog } from './snapshot.js';

/** Maximum number of datasets whose state is kept. */
const maxStates = 16;

/**
 * The states of the logs that were replayed last, for a process that only reads them, so that each of its jobs reads the entries that are
 * new. A state is kept without the last entry: until another one follows it, the process that commits may take it back, if it cannot make it durable.
 */
export class SettledLogs {
  readonly #folder: DataFolder;
  readonly #states = new RecentMap<number, LogState>(maxStates);

  constructor(folder: DataFolder) {
    this.#folder = folder;
  }

  /** The state after all versions of a log, as `replay` returns it. */
  async replay(datasetId: number): Promise<LogState> {
    const { versions, checkpoints } = await logContents(this.#folder, datasetId);
    const settledCount = versions.length - 2;
    const knownState = this.#states.get(datasetId);
    // The log of a dataset that was archived meanwhile may be missing; a later checkpoint spares entries.
    const isLatest =
      knownState !== undefined &&
      knownState.version <= settledCount &&
      !checkpoints.some((one) => one > knownState.version && one <= settledCount);
    const state = await replayLog(
      this.#folder,
      datasetId,
      settledCount,
      isLatest ? knownState : undefined,
    );
    if (state.version >= 0) this.#states.set(datasetId, state);
    return advanceState(this.#folder, datasetId, state);
  }
}
