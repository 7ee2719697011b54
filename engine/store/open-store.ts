import { join } from 'node:path';
import { replaceFile, UncertainPublish } from '../core/atomic-files.js';
import { budgets } from '../core/budgets.js';
import type { DataFolder } from '../core/data-folder.js';
import { AppError, toErrorValue } from '../core/errors.js';
import { settings } from '../core/config.js';
import { damagedFileError } from '../core/file-steps.js';
import {
  discardFile,
  fileExists,
  listInodeIdentitiesUnder,
  listFolder,
  moveFile,
  removeFile,
  removeTree,
  syncFolder,
} from '../core/files.js';
import { Checkpoints } from './checkpoints.js';
import { isDeletionExpired, isMergeable, planMerge } from './compaction.js';
import { VersionDifferenceCache } from './difference.js';
import { DiskUses } from './disk-use.js';
import { FolderRemovals } from './folder-removals.js';
import { SegmentIntegrity } from './integrity.js';
import { linkSegments, segmentMoves } from './link-segments.js';
import { logEntryOfChange, refuseConflict } from './log-change.js';
import { appendEntry, damagedLogEntryError, readEntry, readEntryChecksum } from './log.js';
import type { LogState } from './log-state.js';
import { rebaseDeletions } from './rebase.js';
import { computeRollback } from './rollback.js';
import { areRowIdsInterleaved } from './row-ids.js';
import { planSort } from './sort-plan.js';
import type { DurableLogStates } from './durable-log-states.js';
import { applyEntry, buildSnapshot, readEntriesBetween } from './replay-log.js';
import { SnapshotCache } from './snapshot-cache.js';
import type {
  Checkpoint,
  DatasetChange,
  Damage,
  DiskUse,
  VersionDifference,
  HistoryEntry,
  DatasetStateInCatalog,
  MergeInput,
  ReadVersion,
  Rewrite,
  Rollback,
  Segment,
  Snapshot,
  Store,
  SweepResult,
  VacuumNeeds,
  VacuumPlan,
} from './store.js';
import { Vacuums } from './vacuum.js';
import { droppedLogName, restoredName, sweepDataset, verifyDataset } from './verify-dataset.js';
import { WrittenEntries } from './written-entries.js';

/** Opens the store of a data folder. Any process may read; only the API process may commit, drop and sweep. */
export function openStore(folder: DataFolder, options: StoreOptions = {}): Store {
  return new FileStore(folder, options);
}

/** Options of a store. */
export interface StoreOptions {
  /** States of logs that several stores of this process share; a store with this option must not commit. */
  readonly logs?: DurableLogStates;
  /** Time in milliseconds for which the files of a dropped or archived dataset are kept for queries that have a snapshot of it. */
  readonly dropAfterMs?: number;
  /** Calls `work` once after a time in milliseconds; `setTimeout` by default. */
  readonly setTimer?: (work: () => void, ms: number) => NodeJS.Timeout;
  /** Minimum time in milliseconds between two checks of a snapshot's files; 0: check for every query. */
  readonly checkEveryMs?: number;
  /** Time in milliseconds for which an older version is kept after it has been replaced, and a row after it has been deleted. */
  readonly keepVersionsMs?: number;
  /** Time in milliseconds for which a version is kept after its last use. */
  readonly pinMs?: number;
  readonly now?: () => number;
}

/** Default time in milliseconds between two checks for files that were overwritten in place. */
const defaultCheckIntervalMs = 1_000;
const dayMs = 24 * 3_600_000;

class FileStore implements Store {
  readonly #folder: DataFolder;
  readonly #keepVersionsMs: number;
  readonly #now: () => number;
  readonly #snapshots: SnapshotCache;
  readonly #writtenEntries = new WrittenEntries();
  /** Datasets that this process has deleted. Ids are never reused, so a later commit to such a dataset was begun before the deletion. */
  readonly #droppedDatasets = new Set<number>();
  readonly #removals: FolderRemovals;
  /** For each dataset, a promise that resolves when the last queued operation has ended. */
  readonly #queues = new Map<number, Promise<void>>();
  readonly #integrity: SegmentIntegrity;
  readonly #differences: VersionDifferenceCache;
  readonly #vacuums: Vacuums;
  readonly #checkpoints: Checkpoints;
  readonly #diskUses: DiskUses;
  #commitListener: (datasetId: number, version: number) => void = () => {};

  constructor(folder: DataFolder, options: StoreOptions) {
    const { dropAfterMs, setTimer, checkEveryMs, keepVersionsMs, pinMs, now, logs } = options;
    this.#folder = folder;
    this.#snapshots = new SnapshotCache(folder, logs);
    this.#differences = new VersionDifferenceCache(folder);
    this.#keepVersionsMs = keepVersionsMs ?? settings.keepVersionsDays.defaultValue * dayMs;
    this.#now = now ?? Date.now;
    this.#vacuums = new Vacuums({
      folder,
      snapshots: this.#snapshots,
      keepMs: this.#keepVersionsMs,
      pinMs,
      now: this.#now,
      commit: (datasetId, change) => this.commit(datasetId, change, ''),
    });
    this.#checkpoints = new Checkpoints(folder, this.#snapshots);
    this.#diskUses = new DiskUses(folder, this.#snapshots, this.#checkpoints);
    this.#removals = new FolderRemovals({
      folder,
      // The longest query computes fields into a table, queries the table, reads the records that it has found from the dataset, and
      // explains how the dataset is searched for the records of which fields are computed.
      dropAfterMs: dropAfterMs ?? budgets.computedMs + 3 * budgets.queryMs,
      setTimer: setTimer ?? setTimeout,
      exclusively: (datasetId, work) => this.#exclusively(datasetId, work),
    });
    this.#integrity = new SegmentIntegrity(folder, checkEveryMs ?? defaultCheckIntervalMs);
  }

  async snapshot(datasetId: number, version?: number): Promise<Snapshot> {
    const snapshot = await this.#snapshots.version(datasetId, version);
    this.#vacuums.pin(snapshot);
    await this.#integrity.ensureSchemaFile(snapshot);
    await this.#integrity.check(snapshot);
    return snapshot;
  }

  async version(datasetId: number): Promise<number> {
    return (await this.#snapshots.current(datasetId)).state.version;
  }

  async nextMerge(datasetId: number, isQuiet = false): Promise<MergeInput | undefined> {
    const { columns, segments } = (await this.#snapshots.current(datasetId)).snapshot;
    const dropBefore = await this.#vacuums.expiredBefore(datasetId);
    const segmentsToSort = planSort(segments, isQuiet, isMergeable);
    const window = { dropBefore, now: this.#now() };
    const nextSegments = segmentsToSort ?? planMerge(segments, isQuiet, window);
    if (nextSegments === undefined) return undefined;
    const dropsDeleted = nextSegments.every((segment) => isDeletionExpired(segment, window));
    const isSorted = segmentsToSort !== undefined || areRowIdsInterleaved(nextSegments);
    return { segments: nextSegments, columns, dropsDeleted, isSorted };
  }

  commit(datasetId: number, change: DatasetChange, scratchFolder: string): Promise<Snapshot> {
    return this.#append(datasetId, change, scratchFolder);
  }

  rewrite(datasetId: number, rewrite: Rewrite, scratchFolder: string): Promise<Snapshot> {
    return this.#append(datasetId, rewrite, scratchFolder);
  }

  #append(
    datasetId: number,
    change: DatasetChange | Rewrite,
    scratchFolder: string,
  ): Promise<Snapshot> {
    return this.#exclusively(datasetId, async () => {
      this.#refuseUncertain(datasetId);
      let { state } = await this.#snapshots.current(datasetId);
      refuseConflict(datasetId, state, change);
      this.#refuseDropped(datasetId);
      const moves = segmentMoves(this.#folder, datasetId, change.add, scratchFolder);
      try {
        await linkSegments(this.#folder, datasetId, moves);
        for (;;) {
          this.#refuseLostEntry(datasetId, state.version);
          const latestTime = await this.#latestTime(datasetId, state);
          const entry = await logEntryOfChange(state, change, moves, this.#now(), latestTime);
          const stateAfter = applyEntry(datasetId, state, entry); // throws if the entry would damage the log
          // Everything that can fail comes before the log entry, because the commit has happened as soon as the entry is written.
          const freshState = {
            state: stateAfter,
            snapshot: await buildSnapshot(this.#folder, datasetId, stateAfter),
          };
          this.#snapshots.setVisibleLimit(datasetId, state.version);
          const bytes = await appendEntry(this.#folder, datasetId, entry, stateAfter);
          this.#snapshots.setVisibleLimit(datasetId, undefined);
          if (bytes !== undefined) {
            this.#writtenEntries.add(datasetId, entry, bytes);
            for (const move of moves) await discardFile(move.from);
            this.#snapshots.setCurrent(datasetId, freshState);
            this.#commitListener(datasetId, stateAfter.version);
            return freshState.snapshot;
          }
          // Another process wrote this version first, so the change is checked against the new state.
          state = (await this.#snapshots.current(datasetId)).state;
          refuseConflict(datasetId, state, change);
        }
      } catch (error) {
        // It is unknown whether the entry is durable: the segments stay, and this process keeps showing the version before. The next start
        // finds out which version is the last.
        const isWriting = this.#snapshots.visibleLimit(datasetId) !== undefined;
        if (error instanceof UncertainPublish && isWriting) throw error;
        this.#snapshots.setVisibleLimit(datasetId, undefined);
        // The segments stay in the scratch folder, where the caller can use or remove them; their links are removed.
        for (const move of moves) await discardFile(move.to);
        throw error;
      }
    });
  }

  /** Returns the latest time of the entries of a log; -Infinity if there are none. */
  async #latestTime(datasetId: number, { version, columns }: LogState): Promise<number> {
    if (version < 0) return -Infinity;
    const { time, latestTime } =
      this.#writtenEntries.get(datasetId, version) ??
      (await readEntry(this.#folder, datasetId, version, columns));
    return latestTime ?? time;
  }

  /** Throws if the durability of an earlier entry is unknown: only a restart can then tell which version is the last. */
  #refuseUncertain(datasetId: number): void {
    const lastVisible = this.#snapshots.visibleLimit(datasetId);
    if (lastVisible === undefined) return;
    throw new AppError(
      'internal',
      `dataset ${datasetId}: the disk failed while version ${lastVisible + 1} was written; restart the server to go on`,
    );
  }

  /** Throws if the entry of the current version is missing on disk: versions have no gaps, so the next one must not be written. */
  #refuseLostEntry(datasetId: number, version: number): void {
    if (version < 0 || fileExists(this.#folder.logEntry(datasetId, version))) return;
    throw damagedLogEntryError(datasetId, version, 'is missing; restore it from a backup');
  }

  #refuseDropped(datasetId: number): void {
    const droppedLog = join(this.#folder.dataset(datasetId), droppedLogName);
    if (this.#droppedDatasets.has(datasetId) || fileExists(droppedLog))
      throw deletedMeanwhileError(datasetId);
  }

  onCommit(listener: (datasetId: number, version: number) => void): void {
    this.#commitListener = listener;
  }

  async isVacuumDue(datasetId: number): Promise<boolean> {
    return this.#vacuums.isDue(datasetId, (await this.#snapshots.current(datasetId)).state);
  }

  readableVersion(datasetId: number, version: number): Promise<number> {
    return this.#vacuums.readableVersionFor(datasetId, version);
  }

  beginVacuum(datasetId: number, needs: VacuumNeeds): Promise<VacuumPlan | undefined> {
    return this.#vacuums.startVacuum(datasetId, needs);
  }

  endVacuum(datasetId: number): Promise<number | undefined> {
    return this.#vacuums.finishVacuum(datasetId);
  }

  diskUse(datasetId: number): Promise<DiskUse> {
    return this.#diskUses.get(datasetId);
  }

  isCheckpointDue(datasetId: number): Promise<boolean> {
    return this.#checkpoints.isDue(datasetId);
  }

  publishCheckpoint(datasetId: number, file: string, checkpoint: Checkpoint): Promise<void> {
    return this.#exclusively(datasetId, async () => {
      this.#refuseDropped(datasetId);
      await this.#checkpoints.publish(datasetId, file, checkpoint);
    });
  }

  async *history(datasetId: number, fromVersion: number): AsyncGenerator<HistoryEntry> {
    const last = await this.version(datasetId);
    if (fromVersion > last) return;
    const entries = readEntriesBetween(this.#folder, datasetId, fromVersion - 1, last);
    for await (const { entry, columns } of entries) {
      const { version, add, info } = entry;
      yield { version, columns, segmentColumns: add.map((segment) => segment.columns), info };
    }
  }

  async rebase(
    datasetId: number,
    { version, unsettledEntry }: ReadVersion,
    update: readonly Segment[],
  ): Promise<readonly Segment[] | undefined> {
    const { state } = await this.#snapshots.current(datasetId);
    if (version > state.version) return undefined; // the entry was taken back, or is still being written
    if (unsettledEntry !== undefined) {
      const entryChecksum = await readEntryChecksum(this.#folder, datasetId, version);
      if (entryChecksum !== unsettledEntry) return undefined;
    }
    if (version === state.version) return update;
    return rebaseDeletions(this.#folder, datasetId, version, update, state);
  }

  async rollback(datasetId: number, version: number, base: number): Promise<Rollback> {
    if (version < 0 || version > base)
      throw new AppError('not-found', `dataset ${datasetId} has no version ${version}`);
    const snapshotBefore = this.#snapshots.knownVersion(datasetId, version - 1);
    const newest = await this.#snapshots.version(datasetId, base);
    return computeRollback(this.#folder, version, snapshotBefore, newest, this.#writtenEntries);
  }

  async difference(datasetId: number, from: number, to: number): Promise<VersionDifference> {
    return this.#differences.get(datasetId, from, to, await this.version(datasetId));
  }

  drop(datasetId: number): Promise<void> {
    return this.#exclusively(datasetId, async () => {
      this.#droppedDatasets.add(datasetId);
      if ((await listFolder(this.#folder.deltaLog(datasetId))).length === 0) {
        // The dataset was never committed, or it has been archived. The files of one archived a short time ago are removed later.
        const folder = this.#folder.dataset(datasetId);
        if (!fileExists(join(folder, droppedLogName))) await removeTree(folder);
      } else await this.#remove(datasetId);
      await removeFile(this.#folder.archive(datasetId));
    });
  }

  retire(datasetId: number): Promise<void> {
    return this.#exclusively(datasetId, async () => {
      const archive = this.#folder.archive(datasetId);
      if (!fileExists(archive)) throw damagedFileError(archive, 'is missing');
      const folder = this.#folder.dataset(datasetId);
      if ((await listFolder(this.#folder.deltaLog(datasetId))).length > 0)
        await this.#remove(datasetId);
      // A log that was moved to `droppedLogName` means that the files will be removed later. Without a log at either path, the files were
      // never committed.
      else if (!fileExists(join(folder, droppedLogName))) await removeTree(folder);
    });
  }

  restore(datasetId: number, unpacked: string): Promise<void> {
    return this.#exclusively(datasetId, async () => {
      if (this.#droppedDatasets.has(datasetId)) throw deletedMeanwhileError(datasetId);
      const folder = this.#folder.dataset(datasetId);
      const restoredAt = Buffer.from(`${this.#now()}\n`);
      await replaceFile(join(this.#folder.requireInside(unpacked), restoredName), restoredAt);
      // Files that remain of the dataset from before it was archived have the same names and contents as the unpacked ones, so they are
      // replaced at once. If that fails, their removal stays scheduled.
      await removeTree(folder);
      await moveFile(this.#folder.requireInside(unpacked), folder);
      await syncFolder(this.#folder.datasets);
      this.#removals.cancel(datasetId);
    });
  }

  async #remove(datasetId: number): Promise<void> {
    await this.#removals.remove(datasetId);
    const caches = [this.#snapshots, this.#writtenEntries, this.#integrity, this.#vacuums, this.#checkpoints, this.#diskUses]; // prettier-ignore
    for (const cache of caches) cache.forget(datasetId);
  }

  async datasets(): Promise<readonly number[]> {
    const ids: number[] = [];
    for (const entry of await listFolder(this.#folder.datasets)) {
      if (entry.kind !== 'folder' || !/^\d+$/.test(entry.name)) continue;
      const id = Number(entry.name);
      if ((await listFolder(this.#folder.deltaLog(id))).length > 0) ids.push(id);
    }
    return ids;
  }

  async sweep(
    stateInCatalog: (datasetId: number) => Promise<DatasetStateInCatalog>,
  ): Promise<SweepResult> {
    const removedNames: string[] = [];
    const quarantined: string[] = [];
    const failures: string[] = [];
    const scratch = await listInodeIdentitiesUnder(this.#folder.scratch);
    for (const entry of await listFolder(this.#folder.datasets)) {
      if (entry.kind !== 'folder' || !/^\d+$/.test(entry.name)) continue;
      const id = Number(entry.name);
      const catalogState = await stateInCatalog(id);
      if (catalogState === undefined) continue;
      try {
        const sweepResult = await this.#exclusively(id, () =>
          sweepDataset(this.#folder, id, catalogState, scratch),
        );
        removedNames.push(...sweepResult.removed.map((name) => `${id}/${name}`));
        quarantined.push(...sweepResult.quarantined.map((name) => `${id}/${name}`));
      } catch (error) {
        failures.push(toErrorValue(error).message);
      }
    }
    return { removed: removedNames, quarantined, failures };
  }

  verify(datasetId: number, unnamedBefore?: number): Promise<readonly Damage[]> {
    return this.#exclusively(datasetId, () =>
      verifyDataset(this.#folder, datasetId, unnamedBefore),
    );
  }

  /** Runs operations on a dataset's files one after the other. Other processes are excluded by `link()`, which creates the log entry. */
  async #exclusively<T>(datasetId: number, work: () => Promise<T>): Promise<T> {
    const earlierOperation = this.#queues.get(datasetId);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#queues.set(datasetId, promise);
    try {
      await earlierOperation;
      return await work();
    } finally {
      resolve();
      if (this.#queues.get(datasetId) === promise) this.#queues.delete(datasetId);
    }
  }
}

function deletedMeanwhileError(datasetId: number): AppError {
  return new AppError('conflict', `dataset ${datasetId} was deleted meanwhile`);
}
