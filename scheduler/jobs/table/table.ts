import { AppError } from '../../../engine/core/errors.js';
import { removeTree } from '../../../engine/core/files.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import type { Job } from '../job.js';
import type { TableFile } from './file-table.js';
import { runTable, type TableResult } from './run-table.js';

/**
 * The job that makes a file table: the records of an uploaded file as segments, for queries of files that were not imported. A query waits
 * for it, so it precedes merges, and small files precede the chunks of imports. The table lasts until the cache removes it, at the latest
 * when the server next starts.
 */
export const tableJob: Job<'table', TableFile, TableResult> = {
  kind: 'table',
  type: 'objects.FileTable',
  displayName: 'File Table',
  standalone: { priority: 10, concurrency: (threads) => threads, isTransient: true },
  attempts: 2,

  async prepare(task) {
    return tableFileOf(task);
  },
  run: runTable,
  async discard(task, data) {
    const { objectId, revision } = tableFileOf(task);
    await removeTree(data.fileTable(objectId, revision, task.id));
  },
  // The error has the code `input`, because the file is the cause: the same bytes would kill the next worker as well.
  poisoned(task, deaths) {
    return new AppError(
      'input',
      `${tableFileOf(task).filename}: the worker process ended ${deaths} times while it read this file; it is not tried again`,
    );
  },
};

function tableFileOf({ sourceObjectId, params }: TaskRow): TableFile {
  return {
    objectId: sourceObjectId!,
    revision: Number(params?.['revision']),
    filename: String(params?.['filename']),
  };
}
