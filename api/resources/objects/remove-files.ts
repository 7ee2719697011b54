import type { Deletion } from '../../../engine/catalog/deletion.js';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { removeFile, removeTree } from '../../../engine/core/files.js';
import { formatLogLine } from '../../../engine/core/server-log.js';
import type { AppContext } from '../../http/app-context.js';
import { exportFilePath } from '../downloads/signed-addresses.js';

/**
 * Removes the files of deleted rows and cancels the tasks that work on them. Nothing refers to these files any more: if one cannot be
 * removed, the failure is logged, not reported to the client, and the next start of the server removes the file.
 */
export async function removeFiles(context: AppContext, deletion: Deletion): Promise<void> {
  crashpoint('delete.before-drop');
  const removals: Promise<unknown>[] = [
    ...deletion.activeTaskIds.map((id) => context.scheduler.cancel(id).catch(ignoreNotFound)),
    ...deletion.datasetIds.map((id) => removeDataset(context, id)),
    ...deletion.files.flatMap(({ objectId, revision }) => [
      removeFile(context.data.object(objectId, revision)),
      removeTree(context.data.uploadPartsOf({ id: objectId, revision })),
      context.scheduler.fileTables.drop(objectId),
    ]),
    ...deletion.exports
      .flatMap(({ id, filename }) =>
        filename === null ? [] : [exportFilePath(context.data, id, filename)],
      )
      .map((path) => removeFile(path)),
    ...deletion.imports.map((id) => removeFile(context.data.inlineRecords(id))),
    ...[...deletion.imports, ...deletion.migrations].map((id) =>
      removeFile(context.data.rejectedLines(id)),
    ),
  ];
  for (const result of await Promise.allSettled(removals)) {
    if (result.status === 'rejected') {
      context.log(formatLogLine('error', { error: `not removed: ${String(result.reason)}` }));
    }
  }
}

async function removeDataset({ store, catalog, scheduler }: AppContext, id: number): Promise<void> {
  await scheduler.fileTables.drop(id);
  await store.drop(id);
  crashpoint('delete.dropped');
  await catalog.datasets.forget(id);
}

/** Ignores a `not-found` error: the row of a canceled task may have been deleted with its dataset. */
function ignoreNotFound(error: unknown): void {
  if ((error as { code?: unknown }).code !== 'not-found') throw error;
}
