import { notFound } from '../../../engine/core/errors.js';
import { looseSnapshot } from '../../../engine/store/loose.js';
import { tableFormatOf } from '../../../readers/index.js';
import type { JobQueue } from '../../queue/queue.js';
import { fieldsOfTable, type FileTable, type TableFile } from './file-table.js';
import { schemaName, type TableResult } from './run-table.js';
import type { TableCache, TableSource } from './table-cache.js';

/** Uploaded files as tables, which the worker creates on demand. */
export interface FileTables {
  /**
   * Calls `work` with the table of a file and returns its result; the table is not removed before that. Creates the table if it is
   * not in the cache. Concurrent callers wait for the same table; when all of them have aborted, its creation is canceled.
   */
  use<T>(file: TableFile, signal: AbortSignal, work: (table: FileTable) => Promise<T>): Promise<T>;
  /** Called when the file of an object was replaced or deleted, or a dataset was deleted. */
  drop(objectId: number): Promise<void>;
}

/** Options of `fileTables`. */
export interface FileTablesOptions {
  readonly queue: Pick<JobQueue, 'perform'>;
  report(message: string): void;
  /** Called once for each file, when its table is complete, with the number of its records. */
  counted(file: TableFile, records: number): Promise<void>;
}

/** The tables of uploaded files that a cache keeps. */
export function fileTables(
  cache: TableCache,
  { queue, report, counted }: FileTablesOptions,
): FileTables {
  const sourceOf = (file: TableFile): TableSource<FileTable> => {
    const { objectId, revision, filename } = file;
    return {
      key: keyOf(file),
      objectId,
      isKept: true,
      keepsError: isFileError,
      gone: notFound,
      async create(signal) {
        const order = {
          description: `Read ${filename} as a table`,
          sourceObjectId: objectId,
          params: { revision, filename },
        };
        const { task, result } = await queue.perform('table', order, signal);
        const table = tableOf(file, task.id, result);
        return { table, folder: result.folder, bytes: table.snapshot.bytes };
      },
      async created({ snapshot }) {
        await counted(file, snapshot.rows).catch((error: unknown) => report(String(error)));
      },
    };
  };
  return {
    use: (file, signal, work) => cache.use(sourceOf(file), signal, work),
    drop: (objectId) => cache.drop(objectId),
  };
}

/** Identifies a table: the revision, and how it is read, which depends on the name of the object. */
function keyOf({ objectId, revision, filename }: TableFile): string {
  const { reader, readerParams } = tableFormatOf(filename);
  return `file ${objectId}-${revision} ${reader} ${JSON.stringify(readerParams)}`;
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
