import type { RowBatch } from '../../../engine/query/executor/executor.js';
import type { RunOptions } from '../../../engine/query/executor/run-options.js';
import { RowSequence } from '../../../engine/query/plan/row-sequence.js';
import type { Snapshot } from '../../../engine/store/store.js';
import { openStore } from '../../../engine/store/open-store.js';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import type { RunContext } from '../job.js';
import type { CommitExport } from './export-types.js';
import { PartSplitter, type PartLimits } from './part-splitter.js';
import type { PartRows } from './part.js';

/** Timeout of the query of an export: the lifetime of a download URL. */
export const exportTimeoutMs = 24 * 3_600_000;

/** Number of rows after which finished parts are taken from the splitter, except while it takes a whole segment. */
const rowsPerYield = 4_096;

export function exportQueryOptions(
  { datasetId }: Pick<Snapshot, 'datasetId'>,
  { signal }: Pick<RunContext, 'signal'>,
): RunOptions {
  return { signal, timeoutMs: exportTimeoutMs, subject: `dataset ${datasetId}` };
}

/** Splits rows of a snapshot that a query finds, in order, into parts. */
export async function* splitRowsIntoParts(
  batches: AsyncIterable<RowBatch>,
  snapshot: Snapshot,
  limits: PartLimits,
): AsyncGenerator<PartRows> {
  const splitter = new PartSplitter(snapshot, limits);
  for await (const batch of batches)
    for (const _ of acceptBatch(batch, splitter)) yield* splitter.takeParts();
  splitter.endPart();
  yield* splitter.takeParts();
}

/** Adds the rows of the batch to the splitter, in order, and yields from time to time, so that finished parts can be encoded in between. */
function* acceptBatch(batch: RowBatch, splitter: PartSplitter): Generator<void> {
  let addedRows = 0;
  const isDue = (): boolean => ++addedRows % rowsPerYield === 0;
  if ('refs' in batch) {
    for (const [segment, row] of batch.refs) {
      splitter.addRow(segment, row);
      if (isDue()) yield;
    }
  } else if (batch.rows === 'all') {
    for (const _ of splitter.addWholeSegment(batch.segment)) yield;
  } else {
    const { segment, rows } = batch;
    for (const row of rows) {
      splitter.addRow(segment, row);
      if (isDue()) yield;
    }
  }
  yield;
}

/**
 * Splits the records that a commit has removed or added into parts, in insertion order. The Delta log alone says which records these are;
 * those that were added are found where merges after the commit have moved them.
 */
export async function* splitCommitIntoParts(
  { snapshot, commitVersion, removedFrom, hasAdded }: CommitExport,
  limits: PartLimits,
  data: DataFolder,
): AsyncGenerator<PartRows> {
  const { datasetId, version } = snapshot;
  const store = openStore(data);
  const { removed, added } = await store.difference(datasetId, commitVersion - 1, version);
  for (const [sourceSnapshot, changedRows] of [
    [removedFrom, removed],
    [hasAdded ? snapshot : null, added],
  ] as const) {
    if (sourceSnapshot === null) continue;
    const rows = await RowSequence.fromSnapshot(sourceSnapshot, changedRows);
    const splitter = new PartSplitter(sourceSnapshot, limits);
    for (let firstRow = 0; firstRow < rows.length; firstRow += rowsPerYield) {
      for (const [segment, row] of rows.slice(firstRow, firstRow + rowsPerYield))
        splitter.addRow(segment, row);
      yield* splitter.takeParts();
    }
    splitter.endPart();
    yield* splitter.takeParts();
  }
}
