import { join } from 'node:path';
import { AppError } from '../../../engine/core/errors.js';
import { removeTree } from '../../../engine/core/files.js';
import type { RowBatch } from '../../../engine/query/executor/executor.js';
import { findRows } from '../../../engine/query/plan/find.js';
import { rowNumbers } from '../../../engine/query/plan/rows-by-segment.js';
import { materialise } from '../../../engine/query/results/materialise.js';
import { openSegments } from '../../../engine/query/results/row-blocks.js';
import { segmentFiles, type Snapshot } from '../../../engine/store/store.js';
import { parseComputedPart } from '../computed/computed-query.js';
import { computedTableOf } from '../computed/computed-table.js';
import { writeComputedTable } from '../computed/run-computed.js';
import type { Progress, RunContext } from '../job.js';
import { sourceRowOf } from '../migration/source-rows.js';
import type { ComputedSearch } from './export-types.js';
import { exportQueryOptions } from './part-jobs.js';

/** The rows that an export finds by computed fields. */
interface ComputedSearchRows {
  /** Finds the rows of the dataset; can be called several times. */
  readonly find: () => AsyncGenerator<RowBatch>;
  /** The number of records for which the fields were computed. */
  readonly computedCount: number;
}

/** Computes, into a table in the scratch folder, the fields by which an export finds its records; returns how to find their rows. */
export async function findComputedRows(
  { asked: fullQuery, attempts }: ComputedSearch,
  limit: number,
  context: RunContext,
): Promise<ComputedSearchRows> {
  // The number of found records is known only at the end.
  const progressContext = mapProgress(context, (progress) => ({ ...progress, recordsTotal: null }));
  for (const [version, { parts, params }] of attempts.entries()) {
    const folder = join(context.scratch, `computed-${version}`);
    const result = await writeComputedTable(params, folder, progressContext);
    const { snapshot, fields, rowField } = computedTableOf(result, {
      datasetId: context.taskId,
      version,
    });
    const tableQuery = await parseComputedPart(fullQuery, parts, fields);
    if (tableQuery === undefined) {
      await removeTree(folder);
      continue;
    }
    const request = { ...tableQuery.request, limit };
    const options = exportQueryOptions(snapshot, context);
    return {
      find: () =>
        sourceRows(findRows(context.queryEngine, snapshot, request, options), snapshot, rowField),
      computedCount: snapshot.rows,
    };
  }
  throw new AppError('internal', 'no part of the query finds its records');
}

/** Returns a context that changes the progress before it is reported. */
export function mapProgress(
  context: RunContext,
  change: (progress: Progress) => Progress,
): RunContext {
  return { ...context, progress: (progress) => context.progress(change(progress)) };
}

/** Returns the rows of the source dataset to which rows of the table of computed fields correspond. */
async function* sourceRows(
  batches: AsyncIterable<RowBatch>,
  snapshot: Snapshot,
  rowField: string,
): AsyncGenerator<RowBatch> {
  const column = snapshot.columns.find(({ name }) => name === rowField)!;
  const source = openSegments(segmentFiles(snapshot));
  try {
    for await (const batch of batches) {
      const rows = segmentRowPairs(batch, snapshot);
      for (let at = 0; at < rows.length; at += 2 * rowsPerRead) {
        const rowPairs = rows.subarray(at, at + 2 * rowsPerRead);
        const rowColumn = materialise(source, rowPairs, [{ column, isStored: true }], 'columns');
        const numbers = rowColumn.getChildAt(0)!.toArray() as BigInt64Array;
        yield { refs: Array.from(numbers, (number) => sourceRowOf(Number(number))) };
      }
    }
  } finally {
    source.close();
  }
}

/** Number of rows of the table of computed fields that are read at once. */
const rowsPerRead = 16_384;

/** Returns the rows of a batch as pairs of a segment and a row number in it. */
function segmentRowPairs(batch: RowBatch, { segments }: Snapshot): Int32Array {
  if ('refs' in batch) return Int32Array.from(batch.refs.flat());
  const { segment } = batch;
  const numbers = rowNumbers(batch.rows, segments[segment]!);
  const pairs = new Int32Array(2 * numbers.length);
  for (let i = 0; i < numbers.length; i++) {
    pairs[2 * i] = segment;
    pairs[2 * i + 1] = numbers[i]!;
  }
  return pairs;
}
