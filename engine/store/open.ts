import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { budgets } from '../core/budgets.js';
import { crashpoint } from '../core/crashpoint.js';
import type { DataFolder } from '../core/data-folder.js';
import { AppError } from '../core/errors.js';
import {
  list,
  makeFolder,
  moveFile,
  removeTree,
  syncFolder,
  UncertainPublish,
} from '../core/files.js';
import { planMerge } from './compaction.js';
import { Integrity } from './integrity.js';
import { appendEntry, readEntry, type LogEntry } from './log.js';
import { RecentVersions } from './recent.js';
import {
  advance,
  applied,
  nothing,
  refuseChangedColumns,
  replay,
  sameColumns,
  snapshotOf,
  type LogState,
} from './snapshot.js';
import type {
  Change,
  Damage,
  HistoryEntry,
  Mergeable,
  Rewrite,
  Segment,
  Snapshot,
  Store,
} from './store.js';
import { droppedMark, sweepDataset, verifyDataset } from './verify.js';

/** Opens the store of a data folder. Any process may read; only the API process commits, drops and sweeps. */
export function openStore(folder: DataFolder, options: StoreOptions = {}): Store {
  return new FileStore(folder, options);
}

/** How a store differs from the defaults; for tests. */
export interface StoreOptions {
  /** How long the files of a dropped dataset stay for queries that hold them. */
  readonly dropAfterMs?: number;
  /** How often the files of a snapshot are looked at; 0: for every query. */
  readonly lookEveryMs?: number;
}

/** In between, a file that somebody overwrote in place would go unnoticed. */
const usualLookMs = 1_000;

/** A dataset's log as last read, and the snapshot made of it. */
interface Cached {
  readonly state: LogState;
  readonly snapshot: Snapshot;
}

class FileStore implements Store {
  readonly #folder: DataFolder;
  readonly #dropAfterMs: number;
  readonly #cache = new Map<number, Cached>();
  readonly #recent = new RecentVersions();
  /**
   * While an entry is being written: the last version before it. An entry has its name a moment before that is durable, and
   * nobody may see a version that could still be taken back.
   */
  readonly #settled = new Map<number, number>();
  /** Ids do not come again, so a commit to one of these was under way when its dataset was deleted. */
  readonly #dropped = new Set<number>();
  /** The end of the last turn that was given out, by dataset. */
  readonly #turns = new Map<number, Promise<void>>();
  readonly #integrity: Integrity;

  constructor(folder: DataFolder, { dropAfterMs, lookEveryMs }: StoreOptions) {
    this.#folder = folder;
    this.#dropAfterMs = dropAfterMs ?? 2 * budgets.queryMs;
    this.#integrity = new Integrity(folder, lookEveryMs ?? usualLookMs);
  }

  async snapshot(datasetId: number, version?: number): Promise<Snapshot> {
    const { snapshot } = await this.#current(datasetId);
    const wanted =
      version === undefined || version === snapshot.version
        ? snapshot
        : await this.#earlier(datasetId, version, snapshot.version);
    await this.#integrity.check(wanted);
    return wanted;
  }

  async version(datasetId: number): Promise<number> {
    return (await this.#current(datasetId)).state.version;
  }

  async #earlier(datasetId: number, version: number, current: number): Promise<Snapshot> {
    if (version > current) {
      throw new AppError('not-found', `dataset ${datasetId} has no version ${version}`);
    }
    const known = this.#recent.get(datasetId, version);
    if (known !== undefined) return known;
    const state = await replay(this.#folder, datasetId, version);
    const snapshot = await snapshotOf(this.#folder, datasetId, state);
    this.#recent.add(snapshot);
    return snapshot;
  }

  /** The cached state brought forward by what the log has got since: one look at the disk if that is nothing. */
  async #current(datasetId: number): Promise<Cached> {
    const cached = this.#cache.get(datasetId);
    const last = this.#settled.get(datasetId);
    const state =
      cached === undefined
        ? await replay(this.#folder, datasetId, last)
        : await advance(this.#folder, datasetId, cached.state, last);
    if (cached !== undefined && state === cached.state) return cached;
    const fresh = { state, snapshot: await snapshotOf(this.#folder, datasetId, state) };
    // Two callers may have read at once: the later version stays.
    const other = this.#cache.get(datasetId);
    if (state.version >= 0 && (other === undefined || other.state.version < state.version)) {
      this.#keep(datasetId, fresh);
    }
    return fresh;
  }

  /** Walks that began over the version before will ask for it again. */
  #keep(datasetId: number, fresh: Cached): void {
    const before = this.#cache.get(datasetId);
    if (before !== undefined) this.#recent.add(before.snapshot);
    this.#cache.set(datasetId, fresh);
  }

  async mergeable(datasetId: number, isQuiet = false): Promise<Mergeable | undefined> {
    const { columns, segments } = (await this.#current(datasetId)).snapshot;
    const next = planMerge(segments, isQuiet);
    return next && { segments: next, columns };
  }

  commit(datasetId: number, change: Change, scratchFolder: string): Promise<Snapshot> {
    return this.#append(datasetId, change, scratchFolder);
  }

  rewrite(datasetId: number, rewrite: Rewrite, scratchFolder: string): Promise<Snapshot> {
    return this.#append(datasetId, rewrite, scratchFolder);
  }

  #append(datasetId: number, change: Change | Rewrite, scratchFolder: string): Promise<Snapshot> {
    return this.#inTurn(datasetId, async () => {
      this.#refuseUncertain(datasetId);
      let { state } = await this.#current(datasetId);
      refuseConflict(datasetId, state, change);
      await this.#refuseDropped(datasetId);
      const moves = this.#movesOf(datasetId, change.add, scratchFolder);
      try {
        await this.#moveIn(datasetId, moves);
        for (;;) {
          const entry = entryOf(state, change, moves);
          const after = applied(datasetId, state, entry); // throws if the entry would damage the log
          // All that can fail comes before the entry: from then on it is done.
          const fresh = {
            state: after,
            snapshot: await snapshotOf(this.#folder, datasetId, after),
          };
          this.#settled.set(datasetId, state.version);
          const isDone = await appendEntry(this.#folder, datasetId, entry, state.columns);
          this.#settled.delete(datasetId);
          if (isDone) {
            this.#keep(datasetId, fresh);
            return fresh.snapshot;
          }
          // Another process took the version: look again whether the change still fits.
          state = (await this.#current(datasetId)).state;
          refuseConflict(datasetId, state, change);
        }
      } catch (error) {
        // Its segments stay, and the version before it is all that this process shows: the next start finds out.
        if (error instanceof UncertainPublish && this.#settled.has(datasetId)) throw error;
        this.#settled.delete(datasetId);
        // Back to where the caller can use or sweep them; what cannot be moved, the sweep at start removes.
        for (const move of moves) await moveFile(move.to, move.from).catch(() => undefined);
        throw error;
      }
    });
  }

  /** After an entry of which nobody knows whether it is durable, only a look at what is there can tell what comes next. */
  #refuseUncertain(datasetId: number): void {
    const last = this.#settled.get(datasetId);
    if (last === undefined) return;
    throw new AppError(
      'internal',
      `dataset ${datasetId}: the disk failed while version ${last + 1} was written; restart the server to go on`,
    );
  }

  async #refuseDropped(datasetId: number): Promise<void> {
    const entries = await list(this.#folder.dataset(datasetId));
    const isDropped = this.#dropped.has(datasetId);
    if (isDropped || entries.some((entry) => entry.name === droppedMark)) {
      throw new AppError('conflict', `dataset ${datasetId} was deleted meanwhile`);
    }
  }

  /** Where segments go: names in the dataset's folder that no other commit can choose. */
  #movesOf(
    datasetId: number,
    segments: readonly Segment[],
    scratchFolder: string,
  ): readonly Move[] {
    const batch = `${Date.now().toString(36)}-${randomBytes(6).toString('hex')}`;
    return segments.map((segment, i): Move => {
      const path = `${batch}-${String(i).padStart(5, '0')}.parquet`;
      return {
        segment: { ...segment, path },
        from: this.#folder.checked(join(scratchFolder, segment.path)),
        to: this.#folder.datasetFile(datasetId, path),
      };
    });
  }

  async #moveIn(datasetId: number, moves: readonly Move[]): Promise<void> {
    await makeFolder(this.#folder.log(datasetId));
    for (const move of moves) await moveFile(move.from, move.to);
    await syncFolder(this.#folder.dataset(datasetId));
    crashpoint('segment.renamed');
  }

  async *history(datasetId: number, fromVersion: number): AsyncGenerator<HistoryEntry> {
    const last = await this.version(datasetId);
    let state = fromVersion > 0 ? await replay(this.#folder, datasetId, fromVersion - 1) : nothing;
    while (state.version < last) {
      const version = state.version + 1;
      const entry = await readEntry(this.#folder, datasetId, version, state.columns);
      state = applied(datasetId, state, entry);
      yield { version, info: entry.info };
    }
  }

  drop(datasetId: number): Promise<void> {
    return this.#inTurn(datasetId, async () => {
      this.#dropped.add(datasetId);
      if ((await list(this.#folder.log(datasetId))).length === 0) {
        return removeTree(this.#folder.dataset(datasetId)); // no commit, so no reader
      }
      // Without a log there is no dataset; its segments stay until queries that began before have ended.
      const mark = this.#folder.path('datasets', String(datasetId), droppedMark);
      await moveFile(this.#folder.log(datasetId), mark);
      await syncFolder(this.#folder.dataset(datasetId));
      this.#cache.delete(datasetId);
      this.#recent.forget(datasetId);
      this.#integrity.forget(datasetId);
      const remove = () => removeTree(this.#folder.dataset(datasetId));
      if (this.#dropAfterMs === 0) await remove();
      // What a failure or a restart leaves, the next sweep removes.
      else setTimeout(() => void remove().catch(() => undefined), this.#dropAfterMs).unref();
    });
  }

  async datasets(): Promise<readonly number[]> {
    const ids: number[] = [];
    for (const entry of await list(this.#folder.datasets)) {
      if (entry.kind !== 'folder' || !/^\d+$/.test(entry.name)) continue;
      const id = Number(entry.name);
      if ((await list(this.#folder.log(id))).length > 0) ids.push(id);
    }
    return ids;
  }

  async sweep(): Promise<readonly string[]> {
    const gone: string[] = [];
    for (const entry of await list(this.#folder.datasets)) {
      if (entry.kind !== 'folder' || !/^\d+$/.test(entry.name)) continue;
      const id = Number(entry.name);
      const names = await this.#inTurn(id, () => sweepDataset(this.#folder, id));
      gone.push(...names.map((name) => `${id}/${name}`));
    }
    return gone;
  }

  verify(datasetId: number, unnamedBefore?: number): Promise<readonly Damage[]> {
    return this.#inTurn(datasetId, () => verifyDataset(this.#folder, datasetId, unnamedBefore));
  }

  /** What changes or judges a dataset's files takes turns; other processes are met by the log's link. */
  async #inTurn<T>(datasetId: number, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(datasetId);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#turns.set(datasetId, promise);
    try {
      await before;
      return await work();
    } finally {
      resolve();
      if (this.#turns.get(datasetId) === promise) this.#turns.delete(datasetId);
    }
  }
}

interface Move {
  readonly segment: Segment;
  readonly from: string;
  readonly to: string;
}

function entryOf(state: LogState, change: Change | Rewrite, moves: readonly Move[]): LogEntry {
  const isRewrite = !('columns' in change);
  const isSame = isRewrite || (state.version >= 0 && sameColumns(state.columns, change.columns));
  return {
    version: state.version + 1,
    columns: isSame ? undefined : change.columns,
    add: moves.map((move) => move.segment),
    remove: change.remove,
    isRewrite,
    info: change.info,
    time: Date.now(),
  };
}

function refuseConflict(datasetId: number, state: LogState, change: Change | Rewrite): void {
  if ('columns' in change) {
    if (change.base !== undefined && change.base !== state.version) {
      throw new AppError(
        'conflict',
        `dataset ${datasetId} is at version ${state.version}; the change was made for ${change.base}`,
      );
    }
    refuseChangedColumns(datasetId, state.columns, change.columns);
  }
  for (const path of change.remove) {
    if (!state.live.has(path)) {
      throw new AppError('conflict', `dataset ${datasetId} has no segment ${path} any more`);
    }
  }
}
