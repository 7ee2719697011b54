import type { DataFolder } from '../core/data-folder.js';
import { AppError } from '../core/errors.js';
import { LruCache } from '../core/recent-map.js';
import type { LogState } from './log-state.js';
import type { DurableLogStates } from './settled-logs.js';
import { advanceState, replayLog, buildSnapshot } from './snapshot.js';
import type { Snapshot } from './store.js';

/** A dataset's log as last read, and the snapshot built from it. */
interface LoadedVersion {
  readonly state: LogState;
  readonly snapshot: Snapshot;
}

/** Maximum number of cached snapshots of earlier versions. They are small, because they share their segments with neighbouring versions. */
const maxEarlierSnapshots = 64;

/**
 * Caches the current snapshot of every dataset, which is brought up to date from the log on every access, and the most recently used
 * earlier versions, so that a client that pages through one of them does not cause the log to be replayed for each page.
 */
export class SnapshotCache {
  readonly #folder: DataFolder;
  readonly #logs: DurableLogStates | undefined;
  readonly #current = new Map<number, LoadedVersion>();
  /** Cached earlier versions, by `<dataset> <version>`. */
  readonly #earlier = new LruCache<string, Snapshot>(maxEarlierSnapshots);
  /**
   * While an entry is being written, the last version before it. An entry gets its name a moment before it is durable, and must not be
   * visible while it could still be taken back.
   */
  readonly #limits = new Map<number, number>();

  /** `logs` provides the initial states, in a process that only reads. */
  constructor(folder: DataFolder, logs?: DurableLogStates) {
    this.#folder = folder;
    this.#logs = logs;
  }

  /**
   * Returns the current version. If nothing was committed since the last call, this only checks whether the file of the next log entry
   * exists.
   */
  async current(datasetId: number): Promise<LoadedVersion> {
    const cachedCurrent = this.#current.get(datasetId);
    const last = this.#limits.get(datasetId);
    const state =
      cachedCurrent === undefined
        ? await (this.#logs?.replay(datasetId) ?? replayLog(this.#folder, datasetId, last))
        : await advanceState(this.#folder, datasetId, cachedCurrent.state, last);
    if (cachedCurrent !== undefined && state === cachedCurrent.state) return cachedCurrent;
    const freshEntry = { state, snapshot: await buildSnapshot(this.#folder, datasetId, state) };
    // Two callers may have read the log at the same time; the later version is kept.
    const otherEntry = this.#current.get(datasetId);
    if (
      state.version >= 0 &&
      (otherEntry === undefined || otherEntry.state.version < state.version)
    ) {
      this.setCurrent(datasetId, freshEntry);
    }
    return freshEntry;
  }

  /** Returns a version by its number, by default the current one; throws `not-found` if the version does not exist. */
  async version(datasetId: number, version?: number): Promise<Snapshot> {
    const { snapshot } = await this.current(datasetId);
    if (version === undefined || version === snapshot.version) return snapshot;
    if (version > snapshot.version) {
      throw new AppError('not-found', `dataset ${datasetId} has no version ${version}`);
    }
    const cachedEarlier = this.#earlier.get(`${datasetId} ${version}`);
    if (cachedEarlier !== undefined) return cachedEarlier;
    const state = await replayLog(this.#folder, datasetId, version);
    const earlierSnapshot = await buildSnapshot(this.#folder, datasetId, state);
    this.#addEarlier(earlierSnapshot);
    return earlierSnapshot;
  }

  /** Returns the state of the current version as last read; undefined if it has not been read yet. */
  lastReadState(datasetId: number): LogState | undefined {
    return this.#current.get(datasetId)?.state;
  }

  /** Makes a version the current one. The previous version stays cached for clients that page through it. */
  setCurrent(datasetId: number, fresh: LoadedVersion): void {
    const before = this.#current.get(datasetId);
    if (before !== undefined) this.#addEarlier(before.snapshot);
    this.#current.set(datasetId, fresh);
  }

  /** Hides versions after `version` until the limit is removed with `undefined`. */
  setVisibleLimit(datasetId: number, version: number | undefined): void {
    if (version === undefined) this.#limits.delete(datasetId);
    else this.#limits.set(datasetId, version);
  }

  /** Returns the last visible version while a limit is set; undefined otherwise. */
  visibleLimit(datasetId: number): number | undefined {
    return this.#limits.get(datasetId);
  }

  /** Forgets what is known of a dropped dataset. */
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
