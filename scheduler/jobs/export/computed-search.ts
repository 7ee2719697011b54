import { join } from 'node:path';
import { AppError } from '../../../engine/core/errors.js';
import { removeTree } from '../../../engine/core/files.js';
import type { RowBatch } from '../../../engine/query/plan/executor.js';
import { findRows } from '../../../engine/query/plan/find.js';
import { rowNumbers } from '../../../engine/query/plan/rows-by-segment.js';
import type { QueryEngine } from '../../../engine/query/plan/query-engine.js';
import { materialise } from '../../../engine/query/results/materialise.js';
import { openSegments } from '../../../engine/query/results/row-blocks.js';
import { segmentFiles, type Snapshot } from '../../../engine/store/store.js';
import { parsedOver } from '../computed/computed-query.js';
import { tableOf } from '../computed/computed-table.js';
import { writeComputedTable } from '../computed/run-computed.js';
import type { Progress, RunContext } from '../job.js';
import { rowOfNumber } from '../migration/source-rows.js';
import type { ComputedSearch } from './export-types.js';
import { queryOptions } from './part-jobs.js';

/** The rows that an export finds by fields that it computes. */
export interface ComputedRows {
  /** Finds the rows of the dataset, as often as it is called. */
  readonly find: () => AsyncGenerator<RowBatch>;
  /** The number of records for which the fields were computed. */
  readonly computed: number;
}

/** Computes the fields by which an export finds its records into a table in its scratch folder. */
export async function computedRows(
  { asked, attempts }: ComputedSearch,
  limit: number,
  context: RunContext,
  engine: QueryEngine,
): Promise<ComputedRows> {
  // The number of found records is known only at the end.
  const counting = withProgress(context, (progress) => ({ ...progress, recordsTotal: null }));
  for (const [version, { parts, params }] of attempts.entries()) {
    const folder = join(context.scratch, `computed-${version}`);
    const result = await writeComputedTable(params, folder, counting, engine);
    const { snapshot, fields, rowField } = tableOf(result, { datasetId: context.taskId, version });
    const parsed = await parsedOver(asked, parts, fields);
    if (parsed === undefined) {
      await removeTree(folder);
      continue;
    }
    const request = { ...parsed.request, limit };
    const options = queryOptions(snapshot, context);
    return {
      find: () => sourceRows(findRows(engine, snapshot, request, options), snapshot, rowField),
      computed: snapshot.rows,
    };
  }
  throw new AppError('internal', 'no part of the query finds its records');
}

/** A context that changes the progress before it is reported. */
export function withProgress(
  context: RunContext,
  change: (progress: Progress) => Progress,
): RunContext {
  return { ...context, progress: (progress) => context.progress(change(progress)) };
}

/** The rows of the source that rows of a table stand for. */
async function* sourceRows(
  batches: AsyncIterable<RowBatch>,
  snapshot: Snapshot,
  rowField: string,
): AsyncGenerator<RowBatch> {
  const column = snapshot.columns.find(({ name }) => name === rowField)!;
  const source = openSegments(segmentFiles(snapshot));
  try {
    for await (const batch of batches) {
      const rows = rowPairs(batch, snapshot);
      for (let at = 0; at < rows.length; at += 2 * rowsAtOnce) {
        const some = rows.subarray(at, at + 2 * rowsAtOnce);
        const read = materialise(source, some, [{ column, isStored: true }], 'columns');
        const numbers = read.getChildAt(0)!.toArray() as BigInt64Array;
        yield { refs: Array.from(numbers, (number) => rowOfNumber(Number(number))) };
      }
    }
  } finally {
    source.close();
  }
}

/** Number of rows of a table that are read together. */
const rowsAtOnce = 16_384;

/** The rows of a batch, of each a segment and a row number in it. */
function rowPairs(batch: RowBatch, { segments }: Snapshot): Int32Array {
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
