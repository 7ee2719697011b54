import { budgets } from '../../../engine/core/budgets.js';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { notFound, canceled } from '../../../engine/core/errors.js';
import { removeTree, sweep } from '../../../engine/core/files.js';
import { looseSnapshot } from '../../../engine/store/loose.js';
import { tableFormatOf } from '../../../readers/index.js';
import type { JobQueue } from '../../queue/queue.js';
import { fieldsOfTable, type FileTable, type TableFile } from './file-table.js';
import { schemaName, type TableResult } from './run-table.js';

/** A cache of uploaded files as tables, which the worker creates on demand. */
export interface FileTables {
  /**
   * Calls `work` with the table of a file and returns its result; the table is not removed before that. Creates the table if it is
   * not in the cache. Concurrent callers wait for the same table; when all of them have aborted, its creation is canceled.
   */
  use<T>(file: TableFile, signal: AbortSignal, work: (table: FileTable) => Promise<T>): Promise<T>;
  /** To be called when the file of an object was replaced or deleted. */
  drop(objectId: number): Promise<void>;
}

/** Options of a `TableCache`. */
export interface FileTablesOptions {
  readonly data: DataFolder;
  readonly queue: Pick<JobQueue, 'perform'>;
  report(message: string): void;
  /** To be called with the number of records of a file. */
  counted(file: TableFile, records: number): Promise<void>;
}

/** Bytes that each entry counts in addition to its files, so that the number of small tables and of rejected files is limited. */
const entryBytes = 1 << 20;

interface CachedTable {
  readonly file: TableFile;
  readonly abort: AbortController;
  table: Promise<FileTable>;
  /** Number of callers that wait for the table or use it. */
  users: number;
  /** `unreadable`: the file cannot be read as a table, and the error is cached. */
  state: 'creating' | 'ready' | 'unreadable';
  /** Folder of the table when it is ready. */
  folder: string | null;
  bytes: number;
  /** The entry is no longer in the cache; it is removed when its last user has left. */
  isDropped: boolean;
}

/**
 * The cache in the API process, limited to `budgets.fileTableBytes`; the least recently used tables are removed first. Nothing else
 * knows the folders of the tables, so a start begins with an empty cache.
 */
export class TableCache implements FileTables {
  readonly #options: FileTablesOptions;
  /** Entries by file, the least recently used first. */
  readonly #entries = new Map<string, CachedTable>();

  constructor(options: FileTablesOptions) {
    this.#options = options;
  }

  /** Removes the tables of an earlier process. */
  async start(): Promise<void> {
    await sweep(this.#options.data.fileTables);
  }

  async use<T>(
    file: TableFile,
    signal: AbortSignal,
    work: (table: FileTable) => Promise<T>,
  ): Promise<T> {
    const entry = this.#acquire(file);
    try {
      return await work(await unlessAborted(entry.table, signal));
    } finally {
      await this.#release(entry);
    }
  }

  async drop(objectId: number): Promise<void> {
    const outdated = [...this.#entries.values()].filter(({ file }) => file.objectId === objectId);
    for (const entry of outdated) await this.#drop(entry);
  }

  #acquire(file: TableFile): CachedTable {
    const key = keyOf(file);
    const entry = this.#entries.get(key) ?? this.#create(file);
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    entry.users += 1;
    return entry;
  }

  #create(file: TableFile): CachedTable {
    const entry: CachedTable = {
      file,
      abort: new AbortController(),
      table: undefined as never,
      users: 0,
      state: 'creating',
      folder: null,
      bytes: entryBytes,
      isDropped: false,
    };
    const { signal } = entry.abort;
    entry.table = this.#read(entry).catch(async (error: unknown) => {
      const isDropped = entry.isDropped;
      // An error of the file would occur again; any other may be temporary.
      if (isFileError(error)) entry.state = 'unreadable';
      else await this.#drop(entry);
      throw isDropped && !signal.aborted ? notFound() : error;
    });
    entry.table.catch(() => undefined); // every user may have left
    return entry;
  }

  async #release(entry: CachedTable): Promise<void> {
    entry.users -= 1;
    if (entry.users > 0) return;
    if (entry.isDropped || entry.state === 'creating') await this.#drop(entry);
    await this.#evict();
  }

  /** Takes an entry out of the cache; removes its table when nobody uses it any more. */
  async #drop(entry: CachedTable): Promise<void> {
    entry.isDropped = true;
    if (this.#entries.get(keyOf(entry.file)) === entry) this.#entries.delete(keyOf(entry.file));
    if (entry.users > 0) return;
    entry.abort.abort(canceled()); // without effect on a table that is ready
    await this.#remove(entry.folder);
  }

  /** Removes unused tables, the least recently used first, until the cache is within its budget. */
  async #evict(): Promise<void> {
    let bytes = [...this.#entries.values()].reduce((sum, entry) => sum + entry.bytes, 0);
    for (const entry of this.#entries.values()) {
      if (bytes <= budgets.fileTableBytes) return;
      if (entry.users > 0) continue;
      bytes -= entry.bytes;
      await this.#drop(entry);
    }
  }

  async #read(entry: CachedTable): Promise<FileTable> {
    const { objectId, revision, filename } = entry.file;
    const { signal } = entry.abort;
    const order = {
      description: `Read ${filename} as a table`,
      sourceObjectId: objectId,
      params: { revision, filename },
    };
    const { task, result } = await this.#options.queue.perform('table', order, signal);
    if (signal.aborted) {
      await this.#remove(result.folder);
      throw canceled();
    }
    entry.state = 'ready';
    entry.folder = result.folder;
    const table = tableOf(entry.file, task.id, result);
    entry.bytes += table.snapshot.bytes;
    const records = table.snapshot.rows;
    await this.#options.counted(entry.file, records).catch((error: unknown) => this.#options.report(String(error))); // prettier-ignore
    return table;
  }

  /** A folder that cannot be removed is left to the next start. */
  async #remove(folder: string | null): Promise<void> {
    if (folder === null) return;
    await removeTree(folder).catch((error: unknown) => this.#options.report(String(error)));
  }
}

/** Identifies a table: the revision, and how it is read, which depends on the name of the object. */
function keyOf({ objectId, revision, filename }: TableFile): string {
  const { reader, readerParams } = tableFormatOf(filename);
  return `${objectId}-${revision} ${reader} ${JSON.stringify(readerParams)}`;
}

/** Whether an error is caused by the content of the file. */
function isFileError(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === 'input' || code === 'invalid' || code === 'budget';
}

function tableOf(
  file: TableFile,
  taskId: number,
  { columns, segments, folder }: TableResult,
): FileTable {
  const snapshot = looseSnapshot(
    { folder, schema: schemaName, columns, segments },
    // The task's id is unique; the SQL engine caches by dataset and version.
    { datasetId: file.objectId, version: taskId },
  );
  return {
    snapshot,
    fields: fieldsOfTable(columns),
    isAllText: tableFormatOf(file.filename).isAllText,
  };
}

/** The value of the promise. Rejects with `canceled` if the signal aborts first. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) throw canceled();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(canceled());
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
