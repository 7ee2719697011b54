import { budgets } from '../../../engine/core/budgets.js';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { notFound, canceled } from '../../../engine/core/errors.js';
import { removeTree, sweep } from '../../../engine/core/files.js';
import { looseSnapshot } from '../../../engine/store/loose.js';
import { tableFormatOf } from '../../../readers/index.js';
import type { JobQueue } from '../../queue/queue.js';
import { fieldsOf, type FileTable, type TableFile } from './file-table.js';
import { schemaName, type TableResult } from './run.js';

/** Uploaded files as tables that queries read; the worker makes them, and those used last are kept. */
export interface FileTables {
  /**
   * Works with a file's table, which is made if it is not there and stays for as long as the work takes. Whoever comes while
   * it is being made waits for the same one; when all of them have left, the making ends.
   */
  use<T>(file: TableFile, signal: AbortSignal, work: (table: FileTable) => Promise<T>): Promise<T>;
  /** The object has other bytes now, or none. */
  drop(objectId: number): Promise<void>;
}

/** What the tables need. */
export interface FileTablesOptions {
  readonly data: DataFolder;
  readonly queue: Pick<JobQueue, 'perform'>;
  report(message: string): void;
}

/** What a table counts for beside its bytes, so that neither a million small ones nor their refusals pile up. */
const leastBytes = 1 << 20;

interface Entry {
  readonly file: TableFile;
  readonly abort: AbortController;
  table: Promise<FileTable>;
  /** Who waits for it or works with it. */
  users: number;
  /** `refused`: the file cannot be read as a table, which stays so. */
  state: 'making' | 'made' | 'refused';
  /** Where it is, once it is made. */
  folder: string | null;
  bytes: number;
  /** Nobody new gets it. */
  isDropped: boolean;
}

/** The API process's half. A table is in a folder of its own and is known here alone, so a start begins with none. */
export class TableCache implements FileTables {
  readonly #options: FileTablesOptions;
  /** The one used last comes last. */
  readonly #entries = new Map<string, Entry>();

  constructor(options: FileTablesOptions) {
    this.#options = options;
  }

  /** Removes what an earlier process has left. */
  async start(): Promise<void> {
    await sweep(this.#options.data.fileTables);
  }

  async use<T>(
    file: TableFile,
    signal: AbortSignal,
    work: (table: FileTable) => Promise<T>,
  ): Promise<T> {
    const entry = this.#enter(file);
    try {
      return await work(await unlessAborted(entry.table, signal));
    } finally {
      await this.#leave(entry);
    }
  }

  async drop(objectId: number): Promise<void> {
    const gone = [...this.#entries.values()].filter(({ file }) => file.objectId === objectId);
    for (const entry of gone) await this.#forget(entry);
  }

  #enter(file: TableFile): Entry {
    // The name says how a file is read, and it can change.
    const key = keyOf(file);
    const entry = this.#entries.get(key) ?? this.#begin(file);
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    entry.users += 1;
    return entry;
  }

  #begin(file: TableFile): Entry {
    const entry: Entry = {
      file,
      abort: new AbortController(),
      table: undefined as never,
      users: 0,
      state: 'making',
      folder: null,
      bytes: leastBytes,
      isDropped: false,
    };
    const { signal } = entry.abort;
    entry.table = this.#make(entry).catch(async (error: unknown) => {
      const isGone = entry.isDropped;
      // The same bytes fail in the same way; anything else may go better next time.
      if (isOfFile(error)) entry.state = 'refused';
      else await this.#forget(entry);
      throw isGone && !signal.aborted ? notFound() : error;
    });
    entry.table.catch(() => undefined); // everybody may have left
    return entry;
  }

  async #leave(entry: Entry): Promise<void> {
    entry.users -= 1;
    if (entry.users > 0) return;
    if (entry.isDropped || entry.state === 'making') await this.#forget(entry);
    await this.#makeRoom();
  }

  /** Nobody new gets it; it goes when those who have it are done. */
  async #forget(entry: Entry): Promise<void> {
    entry.isDropped = true;
    if (this.#entries.get(keyOf(entry.file)) === entry) this.#entries.delete(keyOf(entry.file));
    if (entry.users > 0) return;
    entry.abort.abort(canceled()); // what is made already does not hear it
    await this.#remove(entry.folder);
  }

  async #makeRoom(): Promise<void> {
    let bytes = [...this.#entries.values()].reduce((sum, entry) => sum + entry.bytes, 0);
    for (const entry of this.#entries.values()) {
      if (bytes <= budgets.fileTableBytes) return;
      if (entry.users > 0) continue;
      bytes -= entry.bytes;
      await this.#forget(entry);
    }
  }

  async #make(entry: Entry): Promise<FileTable> {
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
    entry.state = 'made';
    entry.folder = result.folder;
    const table = tableOf(entry.file, task.id, result);
    entry.bytes += table.snapshot.bytes;
    return table;
  }

  /** What stays, the next start takes. */
  async #remove(folder: string | null): Promise<void> {
    if (folder === null) return;
    await removeTree(folder).catch((error: unknown) => this.#options.report(String(error)));
  }
}

function keyOf({ objectId, revision, filename }: TableFile): string {
  const { reader, readerParams } = tableFormatOf(filename);
  return `${objectId}-${revision} ${reader} ${JSON.stringify(readerParams)}`;
}

/** Whether the error tells something of the file, which stays as it is. */
function isOfFile(error: unknown): boolean {
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
    // A version never given twice, as what the SQL engine remembers of one needs.
    { datasetId: file.objectId, version: taskId },
  );
  return { snapshot, fields: fieldsOf(columns), isAllText: tableFormatOf(file.filename).isAllText };
}

/** The promise's value, unless the signal comes first. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) throw canceled();
  const left = Promise.withResolvers<never>();
  const leave = (): void => left.reject(canceled());
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([promise, left.promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
