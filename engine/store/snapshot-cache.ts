import type { DataFolder } from '../core/data-folder.js';
import { AppError } from '../core/errors.js';
import { LruCache } from '../core/lru-cache.js';
import type { LogState } from './log-state.js';
import type { DurableLogStates } from './durable-log-states.js';
import { damagedLogEntryError } from './log.js';
import { advanceState, replayLog, buildSnapshot } from './replay-log.js';
import type { Segment, Snapshot } from './store.js';

/** A dataset's log as last read, and the snapshot built from it. */
interface LoadedVersion {
  readonly state: LogState;
  readonly snapshot: Snapshot;
}

/** Maximum total size of the cached current versions, in bytes as `stateBytes` estimates them; a larger one is cached alone. */
const defaultCurrentBytes = 256 << 20;
/** Maximum total size of the snapshots in each cache of earlier versions, in bytes as `snapshotBytes` estimates them. */
const maxEarlierBytes = 64 << 20;
/** The least that a snapshot counts, so that each cache has at most 64. */
const minSnapshotBytes = 1 << 20;

/**
 * Caches the current snapshots of the most recently used datasets, which are brought up to date from the log on every access, and earlier
 * versions, so that a client that pages through one of them does not cause the log to be replayed for each page. Versions that were asked for are kept apart
 * from those that a commit has replaced, because steady commits would evict them.
 */
export class SnapshotCache {
  readonly #folder: DataFolder;
  readonly #logs: DurableLogStates | undefined;
  readonly #maxCurrentBytes: number;
  readonly #current: LruCache<number, LoadedVersion>;
  /** The greatest version of each dataset that has been current. An earlier one is never cached as the current one, also after an eviction. */
  readonly #greatest = new Map<number, number>();
  /** The readings of logs of which nothing is cached, for all callers at the same time. */
  readonly #readings = new Map<number, Promise<LoadedVersion>>();
  /** Earlier versions that were asked for, by `<dataset> <version>`. */
  readonly #requested = new LruCache<string, Snapshot>(maxEarlierBytes);
  /** Versions that were the current ones and have not been asked for since then, by the same keys. */
  readonly #replaced = new LruCache<string, Snapshot>(maxEarlierBytes);
  /**
   * While an entry is being written, the last version before it. An entry gets its name a moment before it is durable, and must not be
   * visible while it could still be taken back.
   */
  readonly #limits = new Map<number, number>();

  /** `logs` provides the initial states, in a process that only reads. */
  constructor(folder: DataFolder, logs?: DurableLogStates, maxCurrentBytes = defaultCurrentBytes) {
    this.#folder = folder;
    this.#logs = logs;
    this.#maxCurrentBytes = maxCurrentBytes;
    this.#current = new LruCache(maxCurrentBytes);
  }

  /**
   * Returns the current version. If nothing was committed since the last call, this only checks whether the file of the next log entry
   * exists, unless the version was evicted. Throws `damaged` if the log has lost an entry since then.
   */
  async current(datasetId: number): Promise<LoadedVersion> {
    const known = this.#current.get(datasetId) ?? (await this.#readShared(datasetId));
    const greatest = this.#greatest.get(datasetId) ?? -1;
    const last = this.#limits.get(datasetId);
    const state = await advanceState(this.#folder, datasetId, known.state, last);
    // A log without any entry has just been moved, because the dataset is archived or deleted.
    if (state.version >= 0 && state.version < greatest)
      throw damagedLogEntryError(datasetId, greatest, 'is missing; restore it from a backup');
    return state === known.state ? known : this.#load(datasetId, state);
  }

  /** Reads a log of which nothing is cached. Callers at the same time share the result, because it may be large. */
  #readShared(datasetId: number): Promise<LoadedVersion> {
    let reading = this.#readings.get(datasetId);
    if (reading === undefined) {
      reading = this.#read(datasetId).finally(() => {
        if (this.#readings.get(datasetId) === reading) this.#readings.delete(datasetId);
      });
      this.#readings.set(datasetId, reading);
    }
    return reading;
  }

  async #read(datasetId: number): Promise<LoadedVersion> {
    for (;;) {
      const last = this.#limits.get(datasetId);
      const state = await (this.#logs?.replay(datasetId) ??
        replayLog(this.#folder, datasetId, last));
      // An entry whose writing began meanwhile is not visible yet.
      if (state.version <= (this.#limits.get(datasetId) ?? Infinity))
        return this.#load(datasetId, state);
    }
  }

  /** Builds the snapshot of a state, which becomes the current version unless a later one, or the same, is known. */
  async #load(datasetId: number, state: LogState): Promise<LoadedVersion> {
    const fresh = { state, snapshot: await buildSnapshot(this.#folder, datasetId, state) };
    const greatest = this.#greatest.get(datasetId) ?? -1;
    const isEvicted = state.version === greatest && !this.#current.has(datasetId);
    if (state.version > greatest || (isEvicted && greatest >= 0)) this.setCurrent(datasetId, fresh);
    return fresh;
  }

  /** Returns a version by its number, by default the current one; throws `not-found` if the version does not exist. */
  async version(datasetId: number, version?: number): Promise<Snapshot> {
    const { snapshot } = await this.current(datasetId);
    if (version === undefined || version === snapshot.version) return snapshot;
    if (version > snapshot.version) {
      throw new AppError('not-found', `dataset ${datasetId} has no version ${version}`);
    }
    const key = earlierKey(datasetId, version);
    const cachedEarlier = this.#requested.get(key);
    if (cachedEarlier !== undefined) return cachedEarlier;
    const earlierSnapshot =
      this.#replaced.get(key) ?? (await this.#readEarlier(datasetId, version));
    this.#replaced.delete(key);
    this.#requested.set(key, earlierSnapshot, snapshotBytes(earlierSnapshot));
    return earlierSnapshot;
  }

  /** Returns a version if it is cached. Unlike `version`, this evicts no versions that clients page through. */
  knownVersion(datasetId: number, version: number): Snapshot | undefined {
    const current = this.#current.get(datasetId)?.snapshot;
    if (current?.version === version) return current;
    const key = earlierKey(datasetId, version);
    return this.#requested.get(key) ?? this.#replaced.get(key);
  }

  async #readEarlier(datasetId: number, version: number): Promise<Snapshot> {
    const state = await replayLog(this.#folder, datasetId, version);
    // The log may just have been moved, because the dataset is archived or deleted.
    if (state.version !== version)
      throw new AppError('not-found', `dataset ${datasetId} has no version ${version}`);
    return buildSnapshot(this.#folder, datasetId, state);
  }

  /** Returns the state of the current version as last read; undefined if it has not been read yet, or was evicted. */
  lastReadState(datasetId: number): LogState | undefined {
    return this.#current.get(datasetId)?.state;
  }

  /** Makes a version the current one. The previous version stays cached for clients that page through it. */
  setCurrent(datasetId: number, fresh: LoadedVersion): void {
    const before = this.#current.get(datasetId)?.snapshot;
    if (before !== undefined)
      this.#replaced.set(earlierKey(datasetId, before.version), before, snapshotBytes(before));
    const bytes = Math.min(this.#maxCurrentBytes, stateBytes(fresh.state));
    this.#current.set(datasetId, fresh, bytes);
    this.#greatest.set(datasetId, fresh.state.version);
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
    this.#greatest.delete(datasetId);
    this.#readings.delete(datasetId);
    this.forgetEarlier(datasetId);
  }

  /** Forgets the earlier versions of a dataset, whose files may have been removed. */
  forgetEarlier(datasetId: number): void {
    for (const cache of [this.#requested, this.#replaced])
      for (const key of cache.keys()) if (key.startsWith(`${datasetId} `)) cache.delete(key);
  }
}

function earlierKey(datasetId: number, version: number): string {
  return `${datasetId} ${version}`;
}

/** What a snapshot takes for each segment, above all for the path of its file, in bytes. */
const bytesPerSegment = 200;

/**
 * Returns how much a snapshot counts in a cache: the bytes of its lists of segments and files, and those of its deletion vectors, encoded and
 * decoded, which grow with the records. Vectors count for each snapshot, although neighbouring versions share many of them. A snapshot
 * above the limit is cached alone.
 */
function snapshotBytes({ segments }: Snapshot): number {
  let bytes = segments.length * bytesPerSegment;
  for (const { deletion } of segments) bytes += deletionBytes(deletion);
  return Math.min(maxEarlierBytes, Math.max(minSnapshotBytes, bytes));
}

function deletionBytes(deletion: Segment['deletion']): number {
  return deletion === undefined
    ? 0
    : deletion.encoded.length + deletion.rows * Int32Array.BYTES_PER_ELEMENT;
}

/** Returns about how many bytes a state takes: its segments, its removed files, and a part for itself. */
function stateBytes({ live, removed }: LogState): number {
  let bytes = bytesPerSegment * (live.size + removed.size) + 10_000;
  for (const segment of live.values()) bytes += segmentBytes(segment);
  return bytes;
}

/** Returns about how many bytes a segment takes in the state of a log, above all for the statistics of its leaves. */
function segmentBytes(segment: Segment): number {
  let bytes = bytesBySegment.get(segment);
  if (bytes === undefined) {
    const { stats, idRuns = [], blockChecksums = '', deletion } = segment;
    bytes = 200 * Object.keys(stats).length + 100 * idRuns.length + blockChecksums.length;
    bytes += 500 + deletionBytes(deletion);
    bytesBySegment.set(segment, bytes);
  }
  return bytes;
}

const bytesBySegment = new WeakMap<Segment, number>();
