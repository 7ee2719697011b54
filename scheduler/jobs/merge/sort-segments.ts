import { join } from 'node:path';
import type {
  RowIdSpan,
  SortedSegment,
  SortRowsInput,
  SpanInput,
} from '../../../engine/change/sort-rows.js';
import { AppError } from '../../../engine/core/errors.js';
import { targetRowsPerSegment } from '../../../engine/store/compaction.js';
import type { MergeSource } from '../../../engine/store/merge-segments.js';
import type { EncodedOrigins } from '../../../engine/store/origins.js';
import { readFooter } from '../../../engine/store/footer.js';
import {
  footerCounts,
  describeCountDifference,
  type FooterCounts,
} from '../../../engine/store/read-columns.js';
import { liveRowCount, type MergeInput, type Segment } from '../../../engine/store/store.js';
import type { RunContext } from '../job.js';
import type { ThreadJob } from '../thread-pool.js';

const divideInThread = 'divide' as ThreadJob<SpanInput, readonly RowIdSpan[]>;
const sortInThread = 'sort' as ThreadJob<SortRowsInput, SortedSegment>;

/** The segments in the scratch folder into which rows were sorted, and where each row comes from. */
interface SortedSegments {
  readonly merged: readonly Segment[];
  readonly origins: readonly EncodedOrigins[];
}

/**
 * Writes the records of several segments as new segments in the order of their row ids, and then the deleted rows as segments of their own,
 * unless deleted rows are dropped. The segments are written one after another, so that imports can use the other threads. Throws `damaged`
 * if the number of records differs afterwards or, unless deleted rows are dropped, the number of values or bytes of a column.
 */
export async function sortSegments(
  sources: readonly MergeSource[],
  { columns, dropsDeleted }: MergeInput,
  { pool, scratch, signal }: RunContext,
): Promise<SortedSegments> {
  const rowsPerSpan = targetRowsPerSegment(sources.map(({ segment }) => segment));
  const spans = await pool.run(
    divideInThread,
    () => ({ sources, rowsPerSpan, dropsDeleted }),
    signal,
  );
  const mergedSegments: Segment[] = [];
  const origins: EncodedOrigins[] = [];
  for (const [i, span] of spans.entries()) {
    const inputOf = (attempt: number) => ({
      sources,
      span,
      columns,
      file: join(scratch, `${i}-${attempt}.parquet`),
    });
    const sortedSegment = await pool.run(sortInThread, inputOf, signal);
    mergedSegments.push(sortedSegment.segment);
    origins.push(sortedSegment.origins);
  }
  const files = mergedSegments.map(({ path }) => join(scratch, path));
  const problem = dropsDeleted
    ? describeRecordLoss(sources, mergedSegments)
    : describeCountDifference(
        await readFooterCounts(sources.map(({ file }) => file)),
        await readFooterCounts(files),
      );
  if (problem !== undefined) throw new AppError('damaged', `sorted segments have ${problem}`);
  return { merged: mergedSegments, origins };
}

function describeRecordLoss(
  sources: readonly MergeSource[],
  merged: readonly Segment[],
): string | undefined {
  const rowsBefore = sources.reduce((sum, { segment }) => sum + liveRowCount(segment), 0);
  const rowsAfter = merged.reduce((sum, { rows }) => sum + rows, 0);
  return rowsBefore === rowsAfter ? undefined : `${rowsAfter} records of ${rowsBefore}`;
}

function readFooterCounts(files: readonly string[]): Promise<readonly FooterCounts[]> {
  return Promise.all(files.map(async (file) => footerCounts(await readFooter(file))));
}
