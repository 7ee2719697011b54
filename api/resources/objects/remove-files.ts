import type { Deletion } from '../../../engine/catalog/deletion.js';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { removeFile } from '../../../engine/core/files.js';
import { logLine } from '../../http/log.js';
import type { AppContext } from '../../http/app-context.js';
import { exportFile } from '../downloads/signed-addresses.js';

/**
 * Removes the files of what the catalogue has let go, and stops the tasks that worked on it. The rows are gone already, so
 * a failure here leaves files that nobody can reach: it is logged, not answered, and the next start removes them.
 */
export async function dropRemoved(context: AppContext, removed: Deletion): Promise<void> {
  crashpoint('delete.before-drop');
  const works: Promise<unknown>[] = [
    ...removed.activeTaskIds.map((id) => context.scheduler.cancel(id).catch(ignoreGone)),
    ...removed.datasetIds.map((id) => dropDataset(context, id)),
    ...removed.files
      .filter(({ revision }) => revision > 0)
      .flatMap(({ objectId, revision }) => [
        removeFile(context.data.object(objectId, revision)),
        context.scheduler.fileTables.drop(objectId),
      ]),
    ...removed.exports
      .flatMap(({ id, filename }) =>
        filename === null ? [] : [exportFile(context.data, id, filename)],
      )
      .map((path) => removeFile(path)),
    ...removed.imports.flatMap((id) => [
      removeFile(context.data.inlineRecords(id)),
      removeFile(context.data.rejectedLines(id)),
    ]),
  ];
  for (const result of await Promise.allSettled(works)) {
    if (result.status === 'rejected') {
      context.log(logLine('error', { error: `not removed: ${String(result.reason)}` }));
    }
  }
}

async function dropDataset({ store, catalog }: AppContext, id: number): Promise<void> {
  await store.drop(id);
  crashpoint('delete.dropped');
  await catalog.datasets.forget(id);
}

/** A task whose row has gone with its dataset cannot be found any more; it has been stopped all the same. */
function ignoreGone(error: unknown): void {
  if ((error as { code?: unknown }).code !== 'not-found') throw error;
}
