import { crashpoint } from '../../../engine/core/crashpoint.js';
import { damagedFileError } from '../../../engine/core/file-steps.js';
import { notFoundError } from '../../../engine/core/errors.js';
import { discardFile } from '../../../engine/core/files.js';
import { unpackArchive } from '../../../engine/store/archive.js';
import { withDatasetLock } from '../dataset-lock.js';
import type { Job } from '../job.js';
import { lostVersionsError } from '../visible-data.js';
import { byteProgressReporter, completeByteProgress, type ArchiveParams } from './archive-run.js';

/** The dataset to restore, and the size and checksum of its archive, as recorded when the archive was written. */
interface RestoreParams extends ArchiveParams {
  readonly bytes: number | null;
  /** SHA-256 of the archive's manifest in hex. */
  readonly checksum: string | null;
}

/** The unpacked dataset. */
interface RestoreResult {
  /** Absolute path of the folder in the scratch folder that holds the unpacked dataset. */
  readonly folder: string;
}

/** Unpacks the archive of a dataset and then deletes the archive. The dataset is available again, with its history. */
export const restoreJob: Job<'restore', RestoreParams, RestoreResult> = {
  kind: 'restore',
  type: 'datasets.DatasetRestoreTask',
  displayName: 'Dataset Restore',
  requiresIdleTarget: true,

  async prepare(task, { catalog }) {
    const { checkPermission } = await import('../permissions.js');
    const datasetId = task.targetObjectId!;
    await checkPermission(catalog, task.userId, 'dataset', datasetId, 'write');
    const dataset = await catalog.datasets.get(datasetId);
    const row = await catalog.restores.get(task.resourceId);
    if (dataset === undefined || row === undefined) throw notFoundError();
    return { datasetId, version: dataset.logVersion, bytes: row.bytes, checksum: row.checksum };
  },

  async run({ datasetId, version, bytes, checksum }, context) {
    const { data, scratch, signal } = context;
    const file = data.archive(datasetId);
    const progress = byteProgressReporter(context);
    const unpackedFiles = await unpackArchive(file, datasetId, scratch, { signal, progress });
    if (unpackedFiles.version !== version)
      throw lostVersionsError(datasetId, unpackedFiles.version, version);
    // An archive that lacks only trailing bytes without data can be unpacked, but is not complete.
    if (bytes !== unpackedFiles.bytes || checksum !== unpackedFiles.checksum)
      throw damagedFileError(file, 'is not the archive that was written; restore it from a backup');
    return { folder: unpackedFiles.folder };
  },

  async publish(task, { folder }, context) {
    crashpoint('restore.unpacked');
    const { catalog, store, data, progress, now } = context;
    const { completeDeletedCommits } = await import('../deleted-commits.js');
    const datasetId = task.targetObjectId!;
    await withDatasetLock(datasetId, async () => {
      await store.restore(datasetId, folder);
      crashpoint('restore.renamed');
      try {
        // The log of a dataset that was archived under an earlier release has not been read at any start of this one. A log that cannot be
        // read does not prevent the restore; the next start tries again and reports the failure.
        await completeDeletedCommits(catalog, store, datasetId).catch(() => undefined);
        const metadata = { progress: completeByteProgress(progress) };
        await catalog.tasks.complete(task.id, { metadata, now: now() });
      } catch (error) {
        // The state in the catalogue decides whether the dataset was restored, even if the transaction seemed to fail.
        const storedDataset = await catalog.datasets.get(datasetId);
        if (storedDataset === undefined) await store.drop(datasetId);
        else if (storedDataset.availability !== 'available') await store.retire(datasetId);
        if (storedDataset?.availability !== 'available') throw error;
      }
      crashpoint('restore.published');
      await discardFile(data.archive(datasetId)); // a file that stays is removed by the sweep at the next start
      crashpoint('restore.removed');
    });
    context.committed(datasetId); // upkeep may be due
    return 'published';
  },
};
