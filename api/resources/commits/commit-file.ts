import type { CommitRow } from '../../../engine/catalog/commits.js';
import type { ExportRow } from '../../../engine/catalog/exports.js';
import { budgets } from '../../../engine/core/budgets.js';
import { AppError, notFound } from '../../../engine/core/errors.js';
import type { AppContext } from '../../http/app-context.js';
import { requireAvailable, requireNoSnapshot } from '../../http/require-resource.js';
import type { Caller } from '../../http/request.js';

/** A file that expires sooner is not offered any more: a client needs time to download it. */
const leastLifetimeMs = budgets.exportUrlMs / 24;

/**
 * The export of the records of a commit, completed: the one that there is, or a new one. Waits as long as a query may take, and then throws a 400 that
 * names the task; a later request finds the same export.
 *
 * Choice: the file of a commit is an export in JSON lines, which anybody who may read the commit starts with
 * `GET /v2/dataset_commits/{id}/download`, and which expires as others do. It has the records that the commit wrote, as they were then; of a
 * delete, the records that it removed; of a rollback, those that it removed and then those that it restored. `_commit` is that of each
 * record. A version whose files were removed (`--keep-versions-days`) is a 400.
 */
export async function commitFile(
  context: AppContext,
  caller: Caller,
  commit: CommitRow,
  signal: AbortSignal,
): Promise<ExportRow> {
  const { catalog, scheduler, store } = context;
  const { id, datasetId, logVersion: version } = commit;
  const dataset = await catalog.datasets.get(datasetId);
  if (dataset === undefined) throw notFound(); // deleted meanwhile
  requireAvailable(context, dataset, 'cannot be read');
  await requireNoSnapshot(context, dataset, 'non_field_errors');
  await store.snapshot(datasetId, version); // throws if the files of this version have been deleted
  const row = await catalog.transaction(async (tx) => {
    const existingExport = await tx.exports.ofCommit(datasetId, id, Date.now() + leastLifetimeMs);
    if (existingExport !== undefined) return existingExport;
    const { row: made } = await tx.exports.create({
      datasetId,
      userId: caller.user.id,
      accountId: caller.account.id,
      format: 'json',
      params: { commit_id: id },
      asOf: { commit_id: id, version },
      taskDescription: `Export the records of commit ${id}`,
    });
    return made;
  });
  scheduler.wake();
  const { taskId } = row;
  const limit = AbortSignal.timeout(budgets.queryMs);
  if (taskId !== null && row.status !== 'completed')
    await scheduler.wait(taskId, AbortSignal.any([signal, limit])).catch((error: unknown) => {
      if (!limit.aborted) throw error;
      throw new AppError(
        'invalid',
        `The file is still being written: wait for task ${taskId}, and ask again.`,
      );
    });
  const done = await catalog.exports.get(row.id);
  if (done === undefined) throw notFound(); // deleted meanwhile
  if (done.status === 'completed') return done;
  throw new AppError(
    'invalid',
    `The file was not written: ${done.errorMessage ?? `its task was ${done.status}`}`,
  );
}
