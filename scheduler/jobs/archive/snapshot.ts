import { join } from 'node:path';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { AppError, notFoundError } from '../../../engine/core/errors.js';
import { linkFile, listFolder, removeFile, syncFolder } from '../../../engine/core/files.js';
import { writeArchive, type ArchiveSummary } from '../../../engine/store/archive.js';
import { withDatasetLock } from '../dataset-lock.js';
import type { Job } from '../job.js';
import { lostVersionsError } from '../visible-data.js';
import { byteProgressReporter, completeByteProgress, type ArchiveParams } from './archive-run.js';

const archiveFileName = 'archive.tar.zst';

/**
 * Writes the archive of a dataset, and then removes the dataset's folder. The queue starts this task when all earlier tasks on the dataset
 * have ended and no other one is running, apart from verifications and tables of computed fields. While the task is running, the dataset is
 * `unavailable`, and no other queued task of it begins, apart from verifications. A table of computed fields that a query has requested
 * just before may begin all the same, because such a task is not queued while its kind has a free slot; the files that it reads are kept
 * for it (`dropAfterMs` of the store).
 */
export const snapshotJob: Job<'snapshot', ArchiveParams, ArchiveSummary> = {
  kind: 'snapshot',
  type: 'datasets.DatasetSnapshotTask',
  displayName: 'Dataset Snapshot',
  requiresIdleTarget: true,

  async prepare(task, { catalog, store }) {
    const { checkPermission } = await import('../permissions.js');
    const datasetId = task.targetObjectId!;
    await checkPermission(catalog, task.userId, 'dataset', datasetId, 'write');
    // A rollback that began before this task existed is no task. It holds the lock until the catalogue has its version.
    return withDatasetLock(datasetId, async () => {
      const dataset = await catalog.datasets.get(datasetId);
      if (dataset === undefined) throw notFoundError();
      requireVersion(datasetId, await store.version(datasetId), dataset.logVersion);
      return { datasetId, version: dataset.logVersion };
    });
  },

  async run({ datasetId, version }, context) {
    const { data, scratch, signal } = context;
    const progress = byteProgressReporter(context);
    const summary = await writeArchive(data, datasetId, join(scratch, archiveFileName), {
      signal,
      progress,
    });
    requireVersion(datasetId, summary.version, version);
    return summary;
  },

  async publish(task, archive, { catalog, store, data, attempt, progress, now }) {
    crashpoint('archive.written');
    const datasetId = task.targetObjectId!;
    const file = data.archive(datasetId);
    await withDatasetLock(datasetId, async () => {
      try {
        const version = await store.version(datasetId);
        requireVersion(datasetId, version, archive.version);
        await linkFile(join(data.taskScratch(task.id, attempt), archiveFileName), file);
        await syncFolder(data.archives);
        crashpoint('archive.linked');
        const { bytes, checksum } = archive;
        await catalog.transaction(async (tx) => {
          await tx.snapshots.update(task.resourceId, { bytes, checksum, logVersion: version });
          const metadata = { progress: completeByteProgress(progress) };
          await tx.tasks.complete(task.id, { metadata, now: now() });
        });
      } catch (error) {
        // The state in the catalogue decides whether the snapshot was recorded, even if the transaction seemed to fail.
        const storedDataset = await catalog.datasets.get(datasetId);
        if (storedDataset?.availability !== 'archived') {
          await removeFile(file).catch(() => undefined); // a file that stays is removed by the sweep at the next start
          throw error;
        }
      }
      crashpoint('archive.published');
      // A failure means that the dataset was deleted meanwhile, or that its folder remains; the next start removes such a folder.
      await store.retire(datasetId).catch(() => undefined);
      crashpoint('archive.retired');
    });
    return 'published';
  },

  // Removes incomplete archives, and archives of datasets that have been restored or deleted.
  async sweepAtStart({ catalog, data, remove }) {
    for (const { name } of await listFolder(data.archives)) {
      const [, id] = /^(\d+)\.tar\.zst$/.exec(name) ?? [];
      const dataset = id === undefined ? undefined : await catalog.datasets.get(Number(id));
      // The archive of a dataset that the server refuses to open may be needed to repair it.
      if (dataset !== undefined && dataset.availability !== 'available') continue;
      const path = join(data.archives, name);
      // A dataset that was empty in the backup from which the catalogue was restored, and was filled and archived later, has only its
      // archive. Any other available dataset has a log that is no shorter than that in its archive.
      if (dataset?.logVersion === -1) {
        const what = `holds records of dataset ${id}, which is empty; unpack it into datasets/${id} and start again to have them back`;
        await remove(path, undefined, what);
      } else await remove(path, id === undefined ? id : Number(id));
    }
  },
};

/** Throws `damaged` if the log of a dataset ends before the version to archive, and `conflict` if it has a later one. */
function requireVersion(datasetId: number, last: number, expected: number): void {
  if (last < expected) throw lostVersionsError(datasetId, last, expected);
  if (last > expected)
    throw new AppError('conflict', `dataset ${datasetId} has changed while it was archived`);
}
