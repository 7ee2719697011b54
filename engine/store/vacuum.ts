import { replaceFile } from '../core/atomic-files.js';
import type { DataFolder } from '../core/data-folder.js';
import { AppError } from '../core/errors.js';
import { fileExists, listFolder, readFile } from '../core/files.js';
import { removeFileSync } from '../core/files-sync.js';
import { LruCache } from '../core/lru-cache.js';
import { entryTimeAt } from './entry-time.js';
import { schemaFilePath } from './schema-file.js';
import { changesRecords, readEntry } from './log.js';
import type { LogState } from './log-state.js';
import type { SnapshotCache } from './snapshot-cache.js';
import type { DatasetChange, Snapshot, VacuumFile, VacuumNeeds, VacuumPlan } from './store.js';
import { unreadableVersionError, type VacuumStep } from './vacuum-entry.js';
import { restoredName } from './verify-dataset.js';

/**
 * Time in milliseconds for which a version stays readable after its last use, because a cursor may page through it or a query may read its
 * files.
 */
const defaultPinMs = 3_600_000;

interface VacuumOptions {
  readonly folder: DataFolder;
  readonly snapshots: SnapshotCache;
  /** Time in milliseconds for which a version is kept after another one has become the newest. */
  readonly keepMs: number;
  readonly pinMs?: number | undefined;
  now(): number;
  commit(datasetId: number, change: DatasetChange): Promise<Snapshot>;
}

/**
 * Chooses the files of earlier versions to be removed and lists them in the log; the caller then removes them. A file may be removed if for
 * `keepMs` it has not been part of the newest version, and if neither `VacuumNeeds` nor a recently used snapshot of this process needs it.
 */
export class Vacuums {
  readonly #options: VacuumOptions;
  /**
   * For each dataset and version, the time at which a snapshot of it was last handed out. While a version is the newest, its files need no
   * pin if `keepMs` is not shorter than `pinMs`.
   */
  readonly #pins = new Map<number, Map<number, number>>();
  /** For each dataset and the absolute path of a schema file, the time at which a snapshot with that file was last handed out. */
  readonly #usedSchemas = new Map<number, Map<string, number>>();
  /**
   * By the key `<dataset> <version>`: the last version that is known to have the same records as that version, and whether the version
   * after it has other records.
   */
  readonly #alike = new LruCache<string, { last: number; hasEnded: boolean }>(10_000);
  /** For each dataset, the segments that a vacuum is about to list in the log. */
  readonly #doomedPaths = new Map<number, ReadonlySet<string>>();

  constructor(options: VacuumOptions) {
    this.#options = options;
  }

  /** Keeps the files of a version whose snapshot is handed out. Throws `invalid` if they are being removed or have been removed. */
  pin(snapshot: Snapshot): void {
    const { snapshots, keepMs, pinMs = defaultPinMs, now } = this.#options;
    const { datasetId, version, files } = snapshot;
    if (this.#isGone(snapshot)) {
      const { readableSince = 0 } = snapshots.lastReadState(datasetId) ?? {};
      const deletedSince = this.#doomedPaths.has(datasetId) ? now() - keepMs : readableSince;
      throw unreadableVersionError(datasetId, version, deletedSince, keepMs);
    }
    setInner(this.#usedSchemas, datasetId, files[0]!, now());
    const isNewest = (snapshots.lastReadState(datasetId)?.version ?? version) <= version;
    if (!isNewest || keepMs < pinMs) setInner(this.#pins, datasetId, version, now());
  }

  /** Returns whether files of a version are being removed or have been removed. */
  #isGone({ datasetId, version, segments }: Snapshot): boolean {
    const newest = this.#options.snapshots.lastReadState(datasetId);
    if (newest === undefined || newest.version <= version) return false;
    const { live, removed } = newest;
    const doomedPaths = this.#doomedPaths.get(datasetId);
    return segments.some(
      ({ path }) =>
        doomedPaths?.has(path) === true ||
        (!live.has(path) && removed.get(path)?.isVacuumed !== false),
    );
  }

  /** Implements `Store.readableVersion`. */
  async readableVersionFor(datasetId: number, version: number): Promise<number> {
    const { snapshots, folder } = this.#options;
    const key = `${datasetId} ${version}`;
    let { last, hasEnded } = this.#alike.get(key) ?? { last: version, hasEnded: false };
    if (hasEnded) return last;
    const { state } = await snapshots.current(datasetId);
    if (version < 0 || version >= state.version) return version;
    let { columns } = await snapshots.version(datasetId, last);
    while (!hasEnded && last < state.version) {
      const entry = await readEntry(folder, datasetId, last + 1, columns);
      hasEnded = changesRecords(entry);
      if (!hasEnded) last = entry.version;
      columns = entry.columns ?? columns;
    }
    this.#alike.set(key, { last, hasEnded }, 1);
    return last;
  }

  /** Forgets what is known of a dataset. */
  forget(datasetId: number): void {
    this.#pins.delete(datasetId);
    this.#usedSchemas.delete(datasetId);
    for (const key of this.#alike.keys())
      if (key.startsWith(`${datasetId} `)) this.#alike.delete(key);
  }

  /**
   * Returns whether a vacuum is due. It is due if one has not ended, or when the first file has been removable for a seventh of `keepMs`,
   * so that a dataset that changes continuously is vacuumed about seven times in `keepMs`, not with each merge.
   */
  async isDue(datasetId: number, { removed }: LogState): Promise<boolean> {
    const { keepMs, now } = this.#options;
    const dueBefore = (await this.expiredBefore(datasetId)) - keepMs / 7;
    for (const [, { isVacuumed, removedAt, latestTimeBeforeRemoval }] of removed) {
      if (isVacuumed || entryTimeAt(now(), removedAt, latestTimeBeforeRemoval) <= dueBefore)
        return true;
      // The files are in the order of their removal, so this one decides, unless the clock was ahead when it was removed.
      if (removedAt <= now()) return false;
    }
    return false;
  }

  /**
   * Returns the time, in milliseconds since 1970, before which a file must have been removed, or a row deleted, so that no version within
   * `keepMs` needs it. The time that a dataset has spent in its archive does not count: for `keepMs` after a restore, all are needed.
   */
  async expiredBefore(datasetId: number): Promise<number> {
    const { folder, keepMs, now } = this.#options;
    const windowStart = now() - keepMs;
    const restoredFile = folder.datasetFile(datasetId, restoredName);
    if (!fileExists(restoredFile)) return windowStart;
    const restoredAt = parseInt(Buffer.from(await readFile(restoredFile)).toString(), 10);
    if (restoredAt <= windowStart) return windowStart;
    // If the time is unreadable, or in the future because the clock was ahead at the restore, the window begins now.
    if (!(restoredAt <= now())) await replaceFile(restoredFile, Buffer.from(`${now()}\n`));
    return -Infinity;
  }

  /** Implements `Store.beginVacuum`. */
  async startVacuum(datasetId: number, needs: VacuumNeeds): Promise<VacuumPlan | undefined> {
    const { snapshots, now } = this.#options;
    const removedBefore = Math.min(
      await this.expiredBefore(datasetId),
      (needs.since ?? Infinity) - 1,
    );
    const pinnedSnapshots = new Map<number, Snapshot>();
    const isPinned = (version: number): boolean => pinnedSnapshots.has(version);
    for (;;) {
      const { state } = await snapshots.current(datasetId);
      const wantedVersions = [...this.#recentlyUsed(this.#pins.get(datasetId)), ...needs.versions];
      const unpinnedVersion = wantedVersions.find((one) => one < state.version && !isPinned(one));
      if (unpinnedVersion !== undefined) {
        pinnedSnapshots.set(unpinnedVersion, await snapshots.version(datasetId, unpinnedVersion));
        continue;
      }
      // Nothing is awaited between this line and the assignment to `#doomedPaths`, so every version that is requested has either been
      // pinned before or is refused.
      const neededPaths = new Set([...pinnedSnapshots.values()].flatMap(({ segments }) => segments.map(({ path }) => path))); // prettier-ignore
      const files: VacuumFile[] = [];
      const freshFiles: string[] = [];
      for (const [
        path,
        { bytes, removedAt, latestTimeBeforeRemoval, isVacuumed },
      ] of state.removed) {
        const isKept = entryTimeAt(now(), removedAt, latestTimeBeforeRemoval) > removedBefore;
        if (!isVacuumed && (isKept || neededPaths.has(path))) continue;
        if (!isVacuumed) freshFiles.push(path);
        files.push({ path, bytes });
      }
      if (files.length === 0) return undefined;
      this.#doomedPaths.set(datasetId, new Set(freshFiles));
      try {
        const step: VacuumStep = { step: 'start', files: freshFiles };
        let { version } = state;
        if (freshFiles.length > 0) ({ version } = await this.#write(datasetId, state, step));
        snapshots.forgetEarlier(datasetId);
        if (needs.since === undefined) {
          const versions = [state, ...pinnedSnapshots.values()];
          // A schema file that stays does no harm, and the log already has the start of the vacuum.
          await this.#removeSchemaFiles(datasetId, versions);
        }
        return { version, files };
      } finally {
        this.#doomedPaths.delete(datasetId);
      }
    }
  }

  /** Implements `Store.endVacuum`. */
  async finishVacuum(datasetId: number): Promise<number | undefined> {
    const { state } = await this.#options.snapshots.current(datasetId);
    const vacuumedFiles = [...state.removed].filter(([, { isVacuumed }]) => isVacuumed);
    if (vacuumedFiles.length === 0) return undefined;
    for (const [path] of vacuumedFiles)
      if (fileExists(this.#options.folder.datasetFile(datasetId, path)))
        throw new AppError('internal', `dataset ${datasetId}: ${path} is still there after a vacuum`); // prettier-ignore
    return (await this.#write(datasetId, state, { step: 'end' })).version;
  }

  #write(datasetId: number, { columns }: LogState, vacuum: VacuumStep): Promise<Snapshot> {
    return this.#options.commit(datasetId, { columns, add: [], remove: [], info: { vacuum } });
  }

  /** Returns the keys whose time of use is recent, and removes the others. */
  #recentlyUsed<K>(usedAt: Map<K, number> = new Map()): readonly K[] {
    const since = this.#options.now() - (this.#options.pinMs ?? defaultPinMs);
    for (const [key, time] of usedAt) if (time < since) usedAt.delete(key);
    return [...usedAt.keys()];
  }

  /**
   * Removes the schema files that no version in use needs. If another version needs one, the file is written again when the version is
   * read. No version is handed out between the choice of a file and its removal, because nothing is awaited there.
   */
  async #removeSchemaFiles(
    datasetId: number,
    versions: readonly Pick<LogState, 'columns'>[],
  ): Promise<void> {
    const { folder } = this.#options;
    const report = (error: unknown): void => {
      const warning = `dataset ${datasetId}: schema files that no version needs stay until the next vacuum (${String(error)})`;
      process.emitWarning(warning, 'StrandlakeWarning');
    };
    const names = await listFolder(folder.datasetFile(datasetId, '_schema')).catch(
      (error: unknown) => {
        report(error);
        return [];
      },
    );
    const usedSchemas = new Set([
      ...this.#recentlyUsed(this.#usedSchemas.get(datasetId)),
      ...versions.map(({ columns }) => folder.datasetFile(datasetId, schemaFilePath(columns))),
    ]);
    for (const { name } of names) {
      if (!/^[0-9a-f]{32}\.parquet$/.test(name)) continue;
      const path = folder.datasetFile(datasetId, `_schema/${name}`);
      if (usedSchemas.has(path)) continue;
      try {
        removeFileSync(path);
      } catch (error) {
        report(error);
      }
    }
  }
}

function setInner<K, L, V>(outer: Map<K, Map<L, V>>, key: K, innerKey: L, value: V): void {
  let inner = outer.get(key);
  if (inner === undefined) outer.set(key, (inner = new Map()));
  inner.set(innerKey, value);
}
