import type { CommitRow } from '../../../engine/catalog/commits.js';
import type { ExportRow } from '../../../engine/catalog/exports.js';
import type { Tables } from '../../../engine/catalog/catalog-tables.js';
import { budgets } from '../../../engine/core/budgets.js';
import { AppError, notFoundError } from '../../../engine/core/errors.js';
import { losslessFormat } from '../../../scheduler/jobs/export/format.js';
import { exportsRemovedRecords } from '../../../scheduler/jobs/export/export-types.js';
import type { AppContext } from '../../http/app-context.js';
import { requireAvailableDataset, requireNoSnapshot } from '../../http/require-resource.js';
import type { Caller } from '../../http/api-request.js';

/** An existing export whose file expires sooner than this is not returned, because a client needs time to download it. */
const minLifetimeMs = budgets.exportUrlMs / 24;

/**
 * Returns the completed export of the records of a commit: an existing one, or a new one. Waits as long as a query may take, then throws a
 * 400 that names the task; a later request finds the same export.
 * Choice: the file of a commit is an export in JSON lines. Anybody who may read the commit starts it with `GET
 * /v2/dataset_commits/{id}/download`, and it expires like other exports. It has the records that the commit wrote, with the values of that
 * version; for a delete, the records that it removed; for a rollback, those that it removed and then those that it restored. `_commit` is
 * the commit of each record. If the files of the version were removed (`--keep-versions-days`), the answer is 400; for records that the
 * commit removed, those of the version before it are needed, too.
 */
export async function exportCommitRecords(
  context: AppContext,
  caller: Caller,
  commit: CommitRow,
  signal: AbortSignal,
): Promise<ExportRow> {
  const { catalog, scheduler, store } = context;
  const { id, datasetId, logVersion: version } = commit;
  const dataset = await catalog.datasets.get(datasetId);
  if (dataset === undefined) throw notFoundError(); // the dataset was deleted meanwhile
  requireAvailableDataset(context, dataset, 'cannot be read');
  await requireNoSnapshot(context, dataset, 'non_field_errors');
  const findExport = (tx: Tables): Promise<ExportRow | undefined> =>
    tx.exports.ofCommit(datasetId, id, Date.now() + minLifetimeMs);
  if ((await catalog.transaction(findExport)) === undefined) {
    // Both throw if the files of the version have been deleted.
    await store.snapshot(datasetId, await store.readableVersion(datasetId, version));
    if (exportsRemovedRecords(commit.mode)) await store.snapshot(datasetId, version - 1);
  }
  const row = await catalog.transaction(async (tx) => {
    const existingExport = await findExport(tx);
    if (existingExport !== undefined) return existingExport;
    const { row: createdExport } = await tx.exports.create({
      datasetId,
      userId: caller.user.id,
      accountId: caller.account.id,
      format: losslessFormat,
      params: { commit_id: id },
      asOf: { commit_id: id, version },
      taskDescription: `Export the records of commit ${id}`,
    });
    return createdExport;
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
  const endedExport = await catalog.exports.get(row.id);
  if (endedExport === undefined) throw notFoundError(); // the export was deleted meanwhile
  if (endedExport.status === 'completed') return endedExport;
  throw new AppError(
    'invalid',
    `The file was not written: ${endedExport.errorMessage ?? `its task was ${endedExport.status}`}`,
  );
}
