import { join } from 'node:path';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { canceledError } from '../../../engine/core/errors.js';
import { writeCheckpoint } from '../../../engine/store/checkpoints.js';
import type { Checkpoint } from '../../../engine/store/store.js';
import { withDatasetLock } from '../dataset-lock.js';
import type { Job } from '../job.js';

interface CheckpointParams {
  readonly datasetId: number;
  readonly version: number;
}

const checkpointFileName = 'checkpoint.parquet';

/** Writes the state of a dataset's Delta log as one file, so that opening the dataset does not read every log entry. */
export const checkpointJob: Job<'checkpoint', CheckpointParams, Checkpoint> = {
  kind: 'checkpoint',
  type: 'datasets.LogCheckpoint',
  displayName: 'Log Checkpoint',
  standalone: { priority: 95, concurrency: () => 1, isShared: true },
  attempts: 2,

  async prepare(task, { catalog }) {
    const datasetId = task.targetObjectId!;
    const dataset = await catalog.datasets.get(datasetId);
    if (dataset?.availability !== 'available' || dataset.logVersion < 0) return null;
    return { datasetId, version: dataset.logVersion };
  },

  async run({ datasetId, version }, { data, scratch, signal, progress }) {
    const writtenCheckpoint = await writeCheckpoint(
      data,
      datasetId,
      version,
      join(scratch, checkpointFileName),
    );
    if (signal.aborted) throw canceledError();
    const { rows: records, bytes } = writtenCheckpoint;
    progress({ records, recordsTotal: records, bytes, bytesTotal: bytes, errors: 0 });
    return writtenCheckpoint;
  },

  async publish(task, checkpoint, { catalog, store, data, attempt, persist }) {
    crashpoint('checkpoint.written');
    const datasetId = task.targetObjectId!;
    const file = join(data.taskScratch(task.id, attempt), checkpointFileName);
    await withDatasetLock(datasetId, async () => {
      if ((await catalog.datasets.get(datasetId))?.availability === 'available')
        await store.publishCheckpoint(datasetId, file, checkpoint);
    });
    await persist(async () => void (await catalog.tasks.complete(task.id)));
    return 'published';
  },
};
