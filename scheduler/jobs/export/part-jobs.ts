import type { RowBatch } from '../../../engine/query/executor/executor.js';
import type { RunOptions } from '../../../engine/query/executor/limits.js';
import type { Snapshot } from '../../../engine/store/store.js';
import { openStore } from '../../../engine/store/open.js';
import { rowNumbersOf } from '../../../engine/store/row-trace.js';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import type { RunContext } from '../job.js';
import type { CommitExport } from './export-types.js';
import { PartCutter, type PartLimits } from './part-cutter.js';
import type { PartRows } from './part.js';

/** Timeout of the query of an export: the lifetime of a download URL. */
export const exportTimeoutMs = 24 * 3_600_000;

/** Number of rows after which `acceptBatch` yields. */
const rowsPerYield = 4_096;

/** The options of the query of an export. */
export function exportQueryOptions(
  { datasetId }: Pick<Snapshot, 'datasetId'>,
  { signal }: Pick<RunContext, 'signal'>,
): RunOptions {
  return { signal, timeoutMs: exportTimeoutMs, subject: `dataset ${datasetId}` };
}

/** Cuts rows of a snapshot that a query finds, in order, into parts. */
export async function* cutRowsIntoParts(
  batches: AsyncIterable<RowBatch>,
  snapshot: Snapshot,
  limits: PartLimits,
): AsyncGenerator<PartRows> {
  const cutter = new PartCutter(snapshot, limits);
  for await (const batch of batches)
    for (const _ of acceptBatch(batch, cutter)) yield* cutter.takeParts();
  cutter.endPart();
  yield* cutter.takeParts();
}

/** Adds the rows of the batch to the cutter, in order, and yields from time to time, so that finished parts can be encoded in between. */
function* acceptBatch(batch: RowBatch, cutter: PartCutter): Generator<void> {
  let count = 0;
  const isDue = (): boolean => ++count % rowsPerYield === 0;
  if ('refs' in batch) {
    for (const [segment, row] of batch.refs) {
      cutter.addRow(segment, row);
      if (isDue()) yield;
    }
  } else if (batch.rows === 'all') {
    for (const _ of cutter.addWholeSegment(batch.segment)) yield;
  } else {
    const { segment, rows } = batch;
    for (const row of rows) {
      cutter.addRow(segment, row);
      if (isDue()) yield;
    }
  }
  yield;
}

/** Cuts the records that a commit has removed or added into parts, in insertion order. The Delta log alone says which records these are. */
export async function* cutCommitIntoParts(
  { snapshot, before, which }: CommitExport,
  limits: PartLimits,
  data: DataFolder,
): AsyncGenerator<PartRows> {
  const { datasetId, version } = snapshot;
  const difference = await openStore(data).difference(datasetId, version - 1, version);
  for (const one of which) {
    const from = one === 'added' ? snapshot : before;
    const cutter = new PartCutter(from, limits);
    let count = 0;
    for (const [index, segment] of from.segments.entries()) {
      const rows = difference[one].get(segment.path);
      if (rows === undefined) continue;
      for (const row of rowNumbersOf(rows, segment)) {
        cutter.addRow(index, row);
        if (++count % rowsPerYield === 0) yield* cutter.takeParts();
      }
    }
    cutter.endPart();
    yield* cutter.takeParts();
  }
}
