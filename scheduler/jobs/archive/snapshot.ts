import { join } from 'node:path';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { AppError, notFound } from '../../../engine/core/errors.js';
import { linkFile, list, removeFile, syncFolder } from '../../../engine/core/files.js';
import { writeArchive, type ArchiveSummary } from '../../../engine/store/archive.js';
import { withDatasetLock } from '../../queue/dataset-lock.js';
import type { Job } from '../job.js';
import { lostVersions } from '../visible-data.js';
import { byteProgress, finalProgress, type ArchiveParams } from './archive-run.js';

const fileName = 'archive.tar.zst';

/**
 * Writes the archive of a dataset, and then removes the dataset's folder. The queue starts it when no other task works on the dataset,
 * which takes no others while it is `unavailable`.
 */
export const snapshotJob: Job<'snapshot', ArchiveParams, ArchiveSummary> = {
  kind: 'snapshot',
  type: 'datasets.DatasetSnapshotTask',
  displayName: 'Dataset Snapshot',
  requiresIdleTarget: true,

  async prepare(task, { catalog, store }) {
    const { checkPermission } = await import('../../queue/permissions.js');
    const datasetId = task.targetObjectId!;
    await checkPermission(catalog, task.userId, 'dataset', datasetId, 'write');
    const dataset = await catalog.datasets.get(datasetId);
    if (dataset === undefined) throw notFound();
    const version = await store.version(datasetId);
    if (version !== dataset.logVersion) throw lostVersions(datasetId, version, dataset.logVersion);
    return { datasetId, version };
  },

  async run({ datasetId, version }, context) {
    const { data, scratch, signal } = context;
    const progress = byteProgress(context);
    const summary = await writeArchive(data, datasetId, join(scratch, fileName), {
      signal,
      progress,
    });
    if (summary.version === version) return summary;
    throw new AppError('conflict', `dataset ${datasetId} has changed while it was archived`);
  },

  async publish(task, archive, { catalog, store, data, attempt, progress, now }) {
    crashpoint('archive.written');
    const datasetId = task.targetObjectId!;
    const file = data.archive(datasetId);
    await withDatasetLock(datasetId, async () => {
      try {
        const version = await store.version(datasetId);
        if (version !== archive.version) throw lostVersions(datasetId, version, archive.version);
        await linkFile(join(data.taskScratch(task.id, attempt), fileName), file);
        await syncFolder(data.archives);
        crashpoint('archive.linked');
        const { bytes, checksum } = archive;
        await catalog.transaction(async (tx) => {
          await tx.snapshots.update(task.resourceId, { bytes, checksum, logVersion: version });
          const metadata = { progress: finalProgress(progress) };
          await tx.tasks.complete(task.id, { metadata, now: now() });
        });
      } catch (error) {
        // The state in the catalogue counts, also if the transaction seemed to fail.
        const after = await catalog.datasets.get(datasetId);
        if (after?.availability !== 'archived') {
          await removeFile(file).catch(() => undefined); // otherwise the sweep at start removes it
          throw error;
        }
      }
      crashpoint('archive.published');
      // A failure leaves a folder that the next start removes; or the dataset was deleted meanwhile.
      await store.retire(datasetId).catch(() => undefined);
      crashpoint('archive.retired');
    });
    return 'published';
  },

  // Removes archives that were not completed, or of datasets that have been restored or deleted.
  async sweepAtStart({ catalog, data, remove }) {
    for (const { name } of await list(data.archives)) {
      const [, id] = /^(\d+)\.tar\.zst$/.exec(name) ?? [];
      const dataset = id === undefined ? undefined : await catalog.datasets.get(Number(id));
      // The archive of a dataset that is refused may be needed to repair it.
      if (dataset !== undefined && dataset.availability !== 'available') continue;
      await remove(join(data.archives, name), id === undefined ? id : Number(id));
    }
  },
};
