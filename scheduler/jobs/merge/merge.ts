import { join } from 'node:path';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import type { EncodedOrigins } from '../../../engine/store/origins.js';
import type { Columns } from '../../../engine/core/types.js';
import type { MergeSource } from '../../../engine/store/merge-segments.js';
import { liveRowCount, type MergeInput, type Segment } from '../../../engine/store/store.js';
import { withDatasetLock } from '../dataset-lock.js';
import type { ThreadJob } from '../thread-pool.js';
import type { Job } from '../job.js';
import { sortSegments } from './sort-segments.js';

/** Input of a merge of segments. */
export interface MergeJobInput {
  /** Whether deleted rows are left out, as in `MergeInput`. */
  readonly dropsDeleted: boolean;
  readonly sources: readonly MergeSource[];
  readonly columns: Columns;
  /** Absolute path of the segment to write, in a scratch folder. */
  readonly file: string;
}

const mergeInThread = 'merge' as ThreadJob<MergeJobInput, Segment>;

/** The input of a merge. The files of the segments that it replaces remain, because earlier versions of the dataset need them. */
interface MergeParams extends MergeInput {
  readonly datasetId: number;
}

/** The new segments, in the task's scratch folder, and those that they replace. */
interface MergeResult {
  /** The new segments, of which there are none if no rows remain; `segments` are those that they replace. */
  readonly merged: readonly Segment[];
  readonly segments: readonly Segment[];
  /**
   * For each new segment, the replaced segment and row from which each of its rows comes (origins.ts); absent if the rows were not sorted.
   */
  readonly origins?: readonly EncodedOrigins[];
}

/** The value of `info.compaction` in a log entry, from which reconciliation updates the catalogue. */
interface CompactionInfo {
  /** Number of segments that were merged. */
  readonly segments: number;
  /** Size of the new segments minus the size of the segments that they replace, in bytes. */
  readonly bytesMore: number;
  /** Whether the rows were sorted by row id. */
  readonly isSorted: boolean;
}

/**
 * Merges small neighbouring segments of a dataset into one, rewrites a segment with many deleted rows or an earlier format, or sorts the
 * rows of segments whose row ids overlap. The segments are chosen from the log when the task starts, not when it is queued. The dataset's
 * lock is held only while the log entry is written and applied to the catalogue: imports continue during the merge, and their segments
 * follow the merged ones. A change that has found its rows before the merge is not outdated (`Store.rebase`).
 */
export const mergeJob: Job<'merge', MergeParams, MergeResult> = {
  kind: 'merge',
  type: 'datasets.SegmentMerge',
  displayName: 'Segment Merge',
  standalone: { priority: 90, concurrency: () => 1, isShared: true },
  attempts: 2,

  async prepare(task, { catalog, store }) {
    const datasetId = task.targetObjectId!;
    const isQuiet = task.params?.['is_quiet'] === true;
    if ((await catalog.datasets.get(datasetId))?.availability !== 'available') return null;
    const input = await store.nextMerge(datasetId, isQuiet);
    return input === undefined ? null : { datasetId, ...input };
  },

  async run(params, context) {
    const { datasetId, columns, segments, dropsDeleted, isSorted } = params;
    const { data, pool, scratch, signal } = context;
    const sources = segments.map((segment) => ({
      file: data.datasetFile(datasetId, segment.path),
      segment,
    }));
    const isEmpty = segments.every((segment) => liveRowCount(segment) === 0);
    if (isEmpty && dropsDeleted) return { merged: [], segments };
    if (isSorted) return { segments, ...(await sortSegments(sources, params, context)) };
    const merge = (attempt: number): MergeJobInput => ({
      sources,
      columns,
      dropsDeleted,
      file: join(scratch, `${attempt}.parquet`),
    });
    return { merged: [await pool.run(mergeInThread, merge, signal)], segments };
  },

  async publish(task, { merged, segments, origins }, { catalog, store, data, attempt, persist }) {
    crashpoint('compact.merged');
    const datasetId = task.targetObjectId!;
    const bytesMore = totalBytesOf(merged) - totalBytesOf(segments);
    const isSorted = origins !== undefined;
    const compaction: CompactionInfo = { segments: segments.length, bytesMore, isSorted };
    const change = { replace: segments, add: merged, origins, info: { compaction } };
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
      const { bytesMore } = info as CompactionInfo;
      await catalog.datasets.rewritten(datasetId, version, bytesMore);
    },
  },
};

function totalBytesOf(segments: readonly Segment[]): number {
  return segments.reduce((sum, { bytes }) => sum + bytes, 0);
}
