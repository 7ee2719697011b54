import { join } from 'node:path';
import { budgets } from '../../../engine/core/budgets.js';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { canceledError, type AppError } from '../../../engine/core/errors.js';
import { listFolder, removeTree } from '../../../engine/core/files.js';
import { raceWithAbort } from '../../../engine/core/shared-run.js';

/** How a table is created. */
export interface TableSource<T> {
  /** The key of the table in the cache: sources with equal keys have the same table. */
  readonly key: string;
  /** The id of the file or the dataset that is read. */
  readonly objectId: number;
  /** Whether the table stays in the cache when its last user has left. */
  readonly isKept: boolean;
  /** Creates the table in a new folder. */
  create(signal: AbortSignal): Promise<CreatedTable<T>>;
  /** Called once with the new table, before anybody uses it. */
  created?(table: T): Promise<void>;
  /** Whether an error is kept in the cache, because creating the table again would fail with it again. */
  keepsError(error: unknown): boolean;
  /** Creates the error for a source that was replaced or deleted while it was being read. */
  gone(): AppError;
}

/** A table, and the folder that contains its files. */
interface CreatedTable<T> {
  readonly table: T;
  readonly folder: string;
  /** The size of the table's files. */
  readonly bytes: number;
}

interface TableCacheOptions {
  readonly data: Pick<DataFolder, 'fileTables'>;
  report(message: string): void;
}

/**
 * Number of bytes that count for each entry in addition to its files, so that the number of small tables and of cached errors is limited.
 */
const entryOverheadBytes = 1 << 20;

interface CachedTable {
  readonly source: TableSource<unknown>;
  readonly abort: AbortController;
  table: Promise<unknown>;
  /** Number of callers that wait for the table or use it. */
  userCount: number;
  /** The state of the table; `unreadable` means that the table cannot be created and that the error is cached. */
  state: 'creating' | 'ready' | 'unreadable';
  /** The folder of the table; null until the table is complete. */
  folder: string | null;
  bytes: number;
  /** Whether the entry is no longer in the cache; its table is removed when its last user has left. */
  isDropped: boolean;
}

/**
 * A cache of tables in the API process, which the worker creates on demand. Its size is limited to `budgets.fileTableBytes`, except that
 * tables in use are never removed; the least recently used tables are removed first. Nothing else refers to the folders of the tables, so
 * the cache is empty when the server starts.
 */
export class TableCache {
  readonly #options: TableCacheOptions;
  /** The entries by key; the least recently used is the first. */
  readonly #entries = new Map<string, CachedTable>();

  constructor(options: TableCacheOptions) {
    this.#options = options;
  }

  /** Removes the tables of an earlier process. */
  async sweepTableFolder(): Promise<void> {
    const { fileTables } = this.#options.data;
    for (const { name } of await listFolder(fileTables)) await this.#remove(join(fileTables, name));
  }

  /**
   * Calls `work` with a table and with whether it was ready; returns the result of `work`. The table is not removed before `work` has
   * ended. Concurrent callers wait for the same table; when all of them have aborted, its creation is canceled.
   */
  async withTable<S, T>(
    source: TableSource<S>,
    signal: AbortSignal,
    work: (table: S, wasReady: boolean) => Promise<T>,
  ): Promise<T> {
    const entry = this.#acquire(source);
    const wasReady = entry.state === 'ready';
    try {
      return await work((await raceWithAbort(entry.table, signal)) as S, wasReady);
    } finally {
      await this.#release(entry);
    }
  }

  /** Takes the tables of a file or a dataset out of the cache; a table in use is removed when its last user has left. */
  async evictTablesOfObject(objectId: number): Promise<void> {
    const outdatedEntries = [...this.#entries.values()].filter(
      ({ source }) => source.objectId === objectId,
    );
    for (const entry of outdatedEntries) await this.#drop(entry);
  }

  #acquire(source: TableSource<unknown>): CachedTable {
    const { key } = source;
    const entry = this.#entries.get(key) ?? this.#create(source);
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    entry.userCount += 1;
    return entry;
  }

  #create(source: TableSource<unknown>): CachedTable {
    const entry: CachedTable = {
      source,
      abort: new AbortController(),
      table: undefined as never,
      userCount: 0,
      state: 'creating',
      folder: null,
      bytes: entryOverheadBytes,
      isDropped: false,
    };
    const { signal } = entry.abort;
    entry.table = this.#createTable(entry).catch(async (error: unknown) => {
      const isDropped = entry.isDropped;
      // An error caused by the source would occur again and is cached; any other error may be temporary.
      if (source.keepsError(error)) entry.state = 'unreadable';
      else await this.#drop(entry);
      throw isDropped && !signal.aborted ? source.gone() : error;
    });
    entry.table.catch(() => undefined); // the rejection is handled even if every user has left
    return entry;
  }

  async #release(entry: CachedTable): Promise<void> {
    entry.userCount -= 1;
    if (entry.userCount > 0) return;
    const isKept = entry.source.isKept && entry.state !== 'creating';
    if (entry.isDropped || !isKept) await this.#drop(entry);
    await this.#evict();
  }

  /** Takes an entry out of the cache; removes its table when nobody uses it any more. */
  async #drop(entry: CachedTable): Promise<void> {
    entry.isDropped = true;
    const { key } = entry.source;
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
    if (entry.userCount > 0) return;
    entry.abort.abort(canceledError()); // without effect on a table that is ready
    await this.#remove(entry.folder);
  }

  /** Removes unused tables, the least recently used first, until the cache is within its budget. */
  async #evict(): Promise<void> {
    let bytes = [...this.#entries.values()].reduce((sum, entry) => sum + entry.bytes, 0);
    for (const entry of this.#entries.values()) {
      if (bytes <= budgets.fileTableBytes) return;
      if (entry.userCount > 0) continue;
      bytes -= entry.bytes;
      await this.#drop(entry);
    }
  }

  async #createTable(entry: CachedTable): Promise<unknown> {
    const { signal } = entry.abort;
    const { table, folder, bytes } = await entry.source.create(signal);
    if (signal.aborted) {
      await this.#remove(folder);
      throw canceledError();
    }
    entry.state = 'ready';
    entry.folder = folder;
    entry.bytes += bytes;
    await entry.source.created?.(table);
    return table;
  }

  /** Removes the folder of a table. A folder that cannot be removed remains until the next start. */
  async #remove(folder: string | null): Promise<void> {
    if (folder === null) return;
    await removeTree(folder).catch((error: unknown) => this.#options.report(String(error)));
  }
}
