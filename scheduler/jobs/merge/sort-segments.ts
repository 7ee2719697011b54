import { join } from 'node:path';
import { AppError } from '../../../engine/core/errors.js';
import { rowsPerSegment } from '../../../engine/store/compaction.js';
import type { MergeSource } from '../../../engine/store/merge.js';
import { readFooter } from '../../../engine/store/footer.js';
import {
  countOf,
  differenceOfCounts,
  type FooterCounts,
} from '../../../engine/store/read-columns.js';
import { liveRows, type Mergeable, type Segment } from '../../../engine/store/store.js';
import type { RunContext } from '../job.js';

/** Segments whose rows were sorted, in the scratch folder, and where their rows come from. */
interface SortedSegments {
  readonly merged: readonly Segment[];
  readonly origins: readonly string[];
}

/**
 * Writes the records of several segments as segments in the order of their row ids, and then their deleted rows as segments of their own, unless
 * these are left out. One segment is written after the other, so that imports have the other threads. Throws `damaged` if a value is lost.
 */
export async function sortSegments(
  sources: readonly MergeSource[],
  { columns, dropsDeleted }: Mergeable,
  { pool, scratch, signal }: RunContext,
): Promise<SortedSegments> {
  const rowsPerSpan = rowsPerSegment(sources.map(({ segment }) => segment));
  const spans = await pool.run('spans', () => ({ sources, rowsPerSpan, dropsDeleted }), signal);
  const mergedSegments: Segment[] = [];
  const origins: string[] = [];
  for (const [i, span] of spans.entries()) {
    const order = (attempt: number) => ({
      sources,
      span,
      columns,
      file: join(scratch, `${i}-${attempt}.parquet`),
    });
    const sorted = await pool.run('sort', order, signal);
    mergedSegments.push(sorted.segment);
    origins.push(sorted.origins);
  }
  const files = mergedSegments.map(({ path }) => join(scratch, path));
  const problem = dropsDeleted
    ? lostRecords(sources, mergedSegments)
    : differenceOfCounts(await countsOf(sources.map(({ file }) => file)), await countsOf(files));
  if (problem !== undefined) throw new AppError('damaged', `sorted segments have ${problem}`);
  return { merged: mergedSegments, origins };
}

function lostRecords(
  sources: readonly MergeSource[],
  merged: readonly Segment[],
): string | undefined {
  const before = sources.reduce((sum, { segment }) => sum + liveRows(segment), 0);
  const after = merged.reduce((sum, { rows }) => sum + rows, 0);
  return before === after ? undefined : `${after} records of ${before}`;
}

function countsOf(files: readonly string[]): Promise<readonly FooterCounts[]> {
  return Promise.all(files.map(async (file) => countOf(await readFooter(file))));
}
