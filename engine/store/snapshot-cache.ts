import type { DataFolder } from '../core/data-folder.js';
import { AppError } from '../core/errors.js';
import { RecentMap } from '../core/recent-map.js';
import type { LogState } from './log-state.js';
import type { SettledLogs } from './settled-logs.js';
import { advanceState, replayLog, snapshotOf } from './snapshot.js';
import type { Snapshot } from './store.js';

/** A dataset's log as last read, and the snapshot built from it. */
interface LoadedVersion {
  readonly state: LogState;
  readonly snapshot: Snapshot;
}

/** Snapshots of earlier versions are small, because they share their segments with neighbouring versions. */
const maxEarlier = 64;

/**
 * The current snapshot of every dataset, brought forward from the log on every access, and the earlier versions used last, so that a
 * client that pages through one of them does not replay the log for each page.
 */
export class SnapshotCache {
  readonly #folder: DataFolder;
  readonly #logs: SettledLogs | undefined;
  readonly #current = new Map<number, LoadedVersion>();
  /** Earlier versions by `<dataset> <version>`. */
  readonly #earlier = new RecentMap<string, Snapshot>(maxEarlier);
  /**
   * While an entry is being written: the last version before it. An entry has its name a moment before it is durable, and must not be
   * visible as long as it could be taken back.
   */
  readonly #limits = new Map<number, number>();

  /** `logs` has the states to begin with, in a process that only reads. */
  constructor(folder: DataFolder, logs?: SettledLogs) {
    this.#folder = folder;
    this.#logs = logs;
  }

  /** The current version; one look at the disk if nothing was committed since the last call. */
  async current(datasetId: number): Promise<LoadedVersion> {
    const cachedCurrent = this.#current.get(datasetId);
    const last = this.#limits.get(datasetId);
    const state =
      cachedCurrent === undefined
        ? await (this.#logs?.replay(datasetId) ?? replayLog(this.#folder, datasetId, last))
        : await advanceState(this.#folder, datasetId, cachedCurrent.state, last);
    if (cachedCurrent !== undefined && state === cachedCurrent.state) return cachedCurrent;
    const freshEntry = { state, snapshot: await snapshotOf(this.#folder, datasetId, state) };
    // Two callers may have read at once: the later version stays.
    const otherEntry = this.#current.get(datasetId);
    if (
      state.version >= 0 &&
      (otherEntry === undefined || otherEntry.state.version < state.version)
    ) {
      this.setCurrent(datasetId, freshEntry);
    }
    return freshEntry;
  }

  /** A version by its number, the current one by default; a version that does not exist is `not-found`. */
  async version(datasetId: number, version?: number): Promise<Snapshot> {
    const { snapshot } = await this.current(datasetId);
    if (version === undefined || version === snapshot.version) return snapshot;
    if (version > snapshot.version) {
      throw new AppError('not-found', `dataset ${datasetId} has no version ${version}`);
    }
    const cachedEarlier = this.#earlier.get(`${datasetId} ${version}`);
    if (cachedEarlier !== undefined) return cachedEarlier;
    const state = await replayLog(this.#folder, datasetId, version);
    const earlierSnapshot = await snapshotOf(this.#folder, datasetId, state);
    this.#addEarlier(earlierSnapshot);
    return earlierSnapshot;
  }

  /** The current version as last read; undefined if it was not read yet. */
  latest(datasetId: number): LogState | undefined {
    return this.#current.get(datasetId)?.state;
  }

  /** Makes a version the current one. The version before stays cached for clients that page through it. */
  setCurrent(datasetId: number, fresh: LoadedVersion): void {
    const before = this.#current.get(datasetId);
    if (before !== undefined) this.#addEarlier(before.snapshot);
    this.#current.set(datasetId, fresh);
  }

  /** Hides versions after `version` until the limit is removed with `undefined`. */
  setLimit(datasetId: number, version: number | undefined): void {
    if (version === undefined) this.#limits.delete(datasetId);
    else this.#limits.set(datasetId, version);
  }

  /** The last visible version while a limit is set. */
  limit(datasetId: number): number | undefined {
    return this.#limits.get(datasetId);
  }

  /** Forgets a dataset that was dropped. */
  forget(datasetId: number): void {
    this.#current.delete(datasetId);
    this.forgetEarlier(datasetId);
  }

  /** Forgets the earlier versions of a dataset, whose files may have been removed. */
  forgetEarlier(datasetId: number): void {
    for (const key of this.#earlier.keys()) {
      if (key.startsWith(`${datasetId} `)) this.#earlier.delete(key);
    }
  }

  #addEarlier(snapshot: Snapshot): void {
    this.#earlier.set(`${snapshot.datasetId} ${snapshot.version}`, snapshot);
  }
}
