import { join } from 'node:path';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { liveRows, type Mergeable, type Segment } from '../../../engine/store/store.js';
import { withDatasetLock } from '../../queue/dataset-lock.js';
import type { MergeOrder } from '../../worker/pool.js';
import type { Job } from '../job.js';

/** Neighbouring segments of a dataset, in order. They stay on disk for earlier versions of the dataset. */
interface MergeParams extends Mergeable {
  readonly datasetId: number;
}

/** The new segment, in the task's scratch folder, and the segments that it replaces. */
interface MergeResult {
  /** Undefined if all rows of the segments are deleted. */
  readonly merged: Segment | undefined;
  readonly segments: readonly Segment[];
}

/** The `info.compaction` of a log entry, from which a restart updates the catalogue. */
export interface Compaction {
  /** Number of segments that were merged. */
  readonly segments: number;
  /** Size of the new segment minus the size of the merged ones, bytes. */
  readonly bytesMore: number;
}

/**
 * Merges small neighbouring segments of a dataset into one. The segments are chosen from the log when the task starts, so the task
 * stores only the dataset. The dataset's lock is held only while the log entry is written: imports continue during the merge, and
 * their segments follow the merged one.
 */
export const mergeJob: Job<'merge', MergeParams, MergeResult> = {
  kind: 'merge',
  type: 'datasets.SegmentMerge',
  displayName: 'Segment Merge',
  background: { priority: 90, concurrency: () => 1, isShared: true },
  attempts: 2,

  async prepare(task, { catalog, store }) {
    const datasetId = task.targetObjectId!;
    const isQuiet = task.params?.['is_quiet'] === true;
    if ((await catalog.datasets.get(datasetId))?.availability !== 'available') return null;
    const mergeable = await store.mergeable(datasetId, isQuiet);
    return mergeable === undefined ? null : { datasetId, ...mergeable };
  },

  async run({ datasetId, columns, segments, dropsDeleted }, { data, pool, scratch, signal }) {
    const sources = segments.map((segment) => ({
      file: data.datasetFile(datasetId, segment.path),
      segment,
    }));
    const isEmpty = segments.every((segment) => liveRows(segment) === 0);
    if (isEmpty && dropsDeleted) return { merged: undefined, segments };
    const merge = (attempt: number): MergeOrder => ({
      sources,
      columns,
      dropsDeleted,
      file: join(scratch, `${attempt}.parquet`),
    });
    return { merged: await pool.run('merge', merge, signal), segments };
  },

  async publish(task, { merged, segments }, { catalog, store, data, attempt, persist }) {
    crashpoint('compact.merged');
    const datasetId = task.targetObjectId!;
    const bytesMore = segments.reduce((more, { bytes }) => more - bytes, merged?.bytes ?? 0);
    const compaction: Compaction = { segments: segments.length, bytesMore };
    const change = { replace: segments, add: merged ? [merged] : [], info: { compaction } };
    const scratch = data.taskScratch(task.id, attempt);
    await withDatasetLock(datasetId, async () => {
      const { version } = await store.rewrite(datasetId, change, scratch);
      crashpoint('compact.before-catalog');
      await persist(() => catalog.datasets.rewritten(datasetId, version, bytesMore));
      crashpoint('compact.after-catalog');
    });
    await persist(async () => void (await catalog.tasks.complete(task.id)));
    return 'published';
  },

  logEntry: {
    key: 'compaction',
    async replay({ catalog, datasetId, version, info }) {
      const { bytesMore } = info as Compaction;
      await catalog.datasets.rewritten(datasetId, version, bytesMore);
    },
  },
};
