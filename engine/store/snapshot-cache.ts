import type { DataFolder } from '../core/data-folder.js';
import { AppError } from '../core/errors.js';
import { LruCache } from '../core/lru-cache.js';
import type { LogState } from './log-state.js';
import type { DurableLogStates } from './durable-log-states.js';
import { advanceState, replayLog, buildSnapshot } from './replay-log.js';
import type { Snapshot } from './store.js';

/** A dataset's log as last read, and the snapshot built from it. */
interface LoadedVersion {
  readonly state: LogState;
  readonly snapshot: Snapshot;
}

/** Maximum total size of the snapshots in each cache of earlier versions, in bytes as `snapshotBytes` estimates them. */
const maxEarlierBytes = 64 << 20;
/** The minimum size in bytes at which a snapshot is counted, so that each cache of earlier versions holds at most 64 snapshots. */
const minSnapshotBytes = 1 << 20;

/**
 * Caches the current snapshot of every dataset, which is brought up to date from the log on every access, and earlier versions, so that a
 * client that pages through one of them does not cause the log to be replayed for each page. Versions that were asked for are kept apart
 * from those that a commit has replaced, because steady commits would evict them.
 */
export class SnapshotCache {
  readonly #folder: DataFolder;
  readonly #logs: DurableLogStates | undefined;
  readonly #current = new Map<number, LoadedVersion>();
  /** Earlier versions that were asked for, by `<dataset> <version>`. */
  readonly #requestedVersions = new LruCache<string, Snapshot>(maxEarlierBytes);
  /** Versions that were the current ones and have not been asked for since then, by `<dataset> <version>`. */
  readonly #replacedVersions = new LruCache<string, Snapshot>(maxEarlierBytes);
  /**
   * While an entry is being written, the last version before it. An entry gets its name a moment before it is durable, and must not be
   * visible while it could still be taken back.
   */
  readonly #visibleLimits = new Map<number, number>();

  /** `logs`, if given, provides the state of a dataset's log when it is read for the first time; only for a process that never commits. */
  constructor(folder: DataFolder, logs?: DurableLogStates) {
    this.#folder = folder;
    this.#logs = logs;
  }

  /**
   * Returns the current version. If a version is cached and nothing was committed since, this only checks whether the file of the next log
   * entry exists.
   */
  async current(datasetId: number): Promise<LoadedVersion> {
    const cachedCurrent = this.#current.get(datasetId);
    const lastVisible = this.#visibleLimits.get(datasetId);
    const state =
      cachedCurrent === undefined
        ? await (this.#logs?.replay(datasetId) ?? replayLog(this.#folder, datasetId, lastVisible))
        : await advanceState(this.#folder, datasetId, cachedCurrent.state, lastVisible);
    if (cachedCurrent !== undefined && state === cachedCurrent.state) return cachedCurrent;
    const freshVersion = { state, snapshot: await buildSnapshot(this.#folder, datasetId, state) };
    // Two callers may have read the log at the same time; the later version is kept.
    const otherVersion = this.#current.get(datasetId);
    if (
      state.version >= 0 &&
      (otherVersion === undefined || otherVersion.state.version < state.version)
    ) {
      this.setCurrent(datasetId, freshVersion);
    }
    return freshVersion;
  }

  /** Returns a version by its number, by default the current one; throws `not-found` if the version does not exist. */
  async version(datasetId: number, version?: number): Promise<Snapshot> {
    const { snapshot } = await this.current(datasetId);
    if (version === undefined || version === snapshot.version) return snapshot;
    if (version > snapshot.version) {
      throw new AppError('not-found', `dataset ${datasetId} has no version ${version}`);
    }
    const key = earlierKey(datasetId, version);
    const cachedEarlier = this.#requestedVersions.get(key);
    if (cachedEarlier !== undefined) return cachedEarlier;
    const earlierSnapshot =
      this.#replacedVersions.get(key) ?? (await this.#readEarlier(datasetId, version));
    this.#replacedVersions.delete(key);
    this.#requestedVersions.set(key, earlierSnapshot, snapshotBytes(earlierSnapshot));
    return earlierSnapshot;
  }

  /** Returns a version if it is cached. Unlike `version`, this evicts no versions that clients page through. */
  knownVersion(datasetId: number, version: number): Snapshot | undefined {
    const current = this.#current.get(datasetId)?.snapshot;
    if (current?.version === version) return current;
    const key = earlierKey(datasetId, version);
    return this.#requestedVersions.get(key) ?? this.#replacedVersions.get(key);
  }

  async #readEarlier(datasetId: number, version: number): Promise<Snapshot> {
    const state = await replayLog(this.#folder, datasetId, version);
    // The log may just have been moved, because the dataset is archived or deleted.
    if (state.version !== version)
      throw new AppError('not-found', `dataset ${datasetId} has no version ${version}`);
    return buildSnapshot(this.#folder, datasetId, state);
  }

  /** Returns the state of the current version as last read; undefined if it has not been read yet. */
  lastReadState(datasetId: number): LogState | undefined {
    return this.#current.get(datasetId)?.state;
  }

  /** Makes a version the current one. The previous version stays cached for clients that page through it. */
  setCurrent(datasetId: number, loadedVersion: LoadedVersion): void {
    const previousSnapshot = this.#current.get(datasetId)?.snapshot;
    if (previousSnapshot !== undefined)
      this.#replacedVersions.set(
        earlierKey(datasetId, previousSnapshot.version),
        previousSnapshot,
        snapshotBytes(previousSnapshot),
      );
    this.#current.set(datasetId, loadedVersion);
  }

  /** Hides versions after `version` until the limit is removed with `undefined`. */
  setVisibleLimit(datasetId: number, version: number | undefined): void {
    if (version === undefined) this.#visibleLimits.delete(datasetId);
    else this.#visibleLimits.set(datasetId, version);
  }

  /** Returns the last visible version while a limit is set; undefined otherwise. */
  visibleLimit(datasetId: number): number | undefined {
    return this.#visibleLimits.get(datasetId);
  }

  /** Forgets what is known of a dataset. */
  forget(datasetId: number): void {
    this.#current.delete(datasetId);
    this.forgetEarlier(datasetId);
  }

  /** Forgets the earlier versions of a dataset, whose files may have been removed. */
  forgetEarlier(datasetId: number): void {
    for (const cache of [this.#requestedVersions, this.#replacedVersions])
      for (const key of cache.keys()) if (key.startsWith(`${datasetId} `)) cache.delete(key);
  }
}

function earlierKey(datasetId: number, version: number): string {
  return `${datasetId} ${version}`;
}

/** What a snapshot takes for each segment, above all for the path of its file, in bytes. */
const bytesPerSegment = 200;

/**
 * Returns how much a snapshot counts in a cache: the bytes of its lists of segments and files, and those of its deletion vectors, encoded
 * and decoded, which grow with the records. Vectors count for each snapshot, although neighbouring versions share many of them. A snapshot
 * above the limit is cached alone.
 */
function snapshotBytes({ segments }: Snapshot): number {
  let bytes = segments.length * bytesPerSegment;
  for (const { deletion } of segments)
    if (deletion !== undefined)
      bytes += deletion.encoded.length + deletion.rows * Int32Array.BYTES_PER_ELEMENT;
  return Math.min(maxEarlierBytes, Math.max(minSnapshotBytes, bytes));
}
