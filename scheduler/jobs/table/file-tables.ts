import { notFoundError } from '../../../engine/core/errors.js';
import { unloggedSnapshot } from '../../../engine/store/unlogged-snapshot.js';
import { tableFormatOf } from '../../../readers/index.js';
import type { TaskQueue } from '../job.js';
import { fieldsOfTable, type FileTable, type TableFile } from './file-table.js';
import { schemaFileName, type TableResult } from './run-table.js';
import type { TableCache, TableSource } from './table-cache.js';

/** Uploaded files as tables, which the worker creates on demand. */
export interface FileTables {
  /**
   * Calls `work` with the table of a file and returns the result of `work`; the table is not removed while `work` runs. Creates the table
   * if it is not in the cache. Concurrent callers wait for the same table; when all of them have aborted, its creation is canceled.
   */
  use<T>(file: TableFile, signal: AbortSignal, work: (table: FileTable) => Promise<T>): Promise<T>;
  /** Drops the tables of a file that was replaced or deleted, or the tables of computed fields of a deleted dataset. */
  drop(objectId: number): Promise<void>;
}

interface FileTablesOptions {
  readonly queue: TaskQueue<'table', TableResult>;
  report(message: string): void;
  /** Called once for each table that is created, when it is complete, with the number of its records. */
  counted(file: TableFile, records: number): Promise<void>;
}

/** Returns the tables of uploaded files that `cache` keeps. */
export function createFileTables(
  cache: TableCache,
  { queue, report, counted }: FileTablesOptions,
): FileTables {
  const sourceOf = (file: TableFile): TableSource<FileTable> => {
    const { objectId, revision, filename } = file;
    return {
      key: tableKeyOf(file),
      objectId,
      isKept: true,
      keepsError: isFileError,
      gone: notFoundError,
      async create(signal) {
        const order = {
          description: `Read ${filename} as a table`,
          sourceObjectId: objectId,
          params: { revision, filename },
        };
        const { task, result } = await queue.enqueueAndWait('table', order, signal);
        const table = fileTableOf(file, task.id, result);
        return { table, folder: result.folder, bytes: table.snapshot.bytes };
      },
      async created({ snapshot }) {
        await counted(file, snapshot.rows).catch((error: unknown) => report(String(error)));
      },
    };
  };
  return {
    use: (file, signal, work) => cache.withTable(sourceOf(file), signal, work),
    drop: (objectId) => cache.evictTablesOfObject(objectId),
  };
}

/** Returns the key of a table: the revision of the file and how it is read, which depends on the name of the object. */
function tableKeyOf({ objectId, revision, filename }: TableFile): string {
  const { reader, readerParams } = tableFormatOf(filename);
  return `file ${objectId}-${revision} ${reader} ${JSON.stringify(readerParams)}`;
}

/** Whether an error is caused by the file itself, so that reading the file again would cause it again. */
function isFileError(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === 'input' || code === 'invalid' || code === 'budget';
}

function fileTableOf(
  file: TableFile,
  taskId: number,
  { columns, segments, folder }: TableResult,
): FileTable {
  const snapshot = unloggedSnapshot(
    { folder, schema: schemaFileName, columns, segments },
    // The task's id is unique, so it serves as the version: the SQL engine caches by dataset and version.
    { datasetId: file.objectId, version: taskId },
  );
  return {
    snapshot,
    fields: fieldsOfTable(columns),
    isAllText: tableFormatOf(file.filename).isAllText,
  };
}
