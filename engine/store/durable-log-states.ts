import type { DataFolder } from '../core/data-folder.js';
import { fileExists } from '../core/files.js';
import { LruCache } from '../core/lru-cache.js';
import { readEntryChecksum, readLogContents } from './log.js';
import type { LogState } from './log-state.js';
import { advanceState, replayLog } from './replay-log.js';

/** Maximum number of datasets whose state is cached. */
const maxCachedStates = 16;

/** If more entries than this follow a cached state, the log is replayed instead, which can begin at a newer checkpoint. */
const maxAdvancedEntries = 100;

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

  /**
   * Returns the state after all versions of a log. If its last entry may still be taken back, the state has the checksum of this entry, by
   * which `Store.rebase` recognises that another entry has taken its version.
   */
  replay(datasetId: number): Promise<LogState> {
    return this.#inTurn(datasetId, async () => {
      const state = (await this.#advanceKnown(datasetId)) ?? (await this.#replaySettled(datasetId));
      if (state.version >= 0) this.#states.set(datasetId, state);
      const last = state.version + 1;
      if (!fileExists(this.#folder.logEntry(datasetId, last))) return state;
      // The checksum is read before the entry: if another entry takes its place in between, the checksum is not that of the other entry.
      const unsettledEntry = await readEntryChecksum(this.#folder, datasetId, last);
      const newestState = await advanceState(this.#folder, datasetId, state, last);
      return newestState.version === last ? { ...newestState, unsettledEntry } : newestState;
    });
  }

  /**
   * Returns the cached state, advanced to the last version but one unless it is already the last one. Returns undefined if no state is
   * cached; if its last entry is gone, for example because the dataset has been archived; or if so many entries follow that a checkpoint
   * may save reading them. The log's folder is not listed.
   */
  async #advanceKnown(datasetId: number): Promise<LogState | undefined> {
    const knownState = this.#states.get(datasetId);
    const exists = (version: number): boolean =>
      fileExists(this.#folder.logEntry(datasetId, version));
    if (knownState === undefined || !exists(knownState.version)) return undefined;
    let last = knownState.version;
    while (exists(last + 1)) if (++last - knownState.version > maxAdvancedEntries) return undefined;
    return advanceState(
      this.#folder,
      datasetId,
      knownState,
      Math.max(knownState.version, last - 1),
    );
  }

  /** Returns the state of the last version but one; the last one if it is known to be durable. */
  async #replaySettled(datasetId: number): Promise<LogState> {
    const { versions } = await readLogContents(this.#folder, datasetId);
    const knownVersion = this.#states.get(datasetId)?.version ?? -1;
    const settledVersion =
      knownVersion < versions.length
        ? Math.max(versions.length - 2, knownVersion)
        : versions.length - 2;
    return replayLog(this.#folder, datasetId, settledVersion);
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
    const earlierReading = this.#readings.get(datasetId);
    const reading = (earlierReading ?? Promise.resolve()).then(read, read);
    this.#readings.set(datasetId, reading);
    try {
      return await reading;
    } finally {
      if (this.#readings.get(datasetId) === reading) this.#readings.delete(datasetId);
    }
  }
}
