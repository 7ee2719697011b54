import type { Publication } from '../../engine/catalog/publish.js';
import type { TaskRow } from '../../engine/catalog/task-row.js';
import { crashpoint } from '../../engine/core/crashpoint.js';
import type { DatasetChange } from '../../engine/store/store.js';
import type { PublishContext, Published } from './job.js';

/**
 * Commits the change of a dataset that a task has prepared to the log and then to the catalogue, and completes the task. The caller holds
 * the lock of the dataset. Returns `run again` if another process has committed meanwhile.
 */
export async function commitChange(
  task: TaskRow,
  publication: Publication,
  change: DatasetChange,
  context: PublishContext,
): Promise<Published> {
  const { catalog, store, data, attempt } = context;
  const { datasetId } = publication;
  const scratch = data.taskScratch(task.id, attempt);
  const version = await store.commit(datasetId, change, scratch).then(
    (after) => after.version,
    (error: unknown) => {
      if ((error as { code?: unknown }).code === 'conflict') return undefined;
      throw error;
    },
  );
  if (version === undefined) return 'run again'; // another process has committed meanwhile
  // The commit is durable now: after a crash, reconciliation replays it from the log.
  crashpoint('catalog.before-commit');
  const published = context.persist(() => catalog.publish({ ...publication, logVersion: version }));
  await published.catch(async (error: unknown) => {
    // The dataset was deleted meanwhile. After any other error the log has the commit, and a restart replays it.
    if ((error as { code?: unknown }).code === 'not-found') await store.drop(datasetId);
    throw error;
  });
  crashpoint('catalog.after-commit');
  context.committed(datasetId);
  return 'published';
}
