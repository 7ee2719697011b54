import { Int64, makeData } from 'apache-arrow';
import type { Column } from '../../../engine/core/types.js';
import { makeBatch, type Batch } from '../../../engine/ingest/batch.js';
import { withReservedColumns } from '../../../engine/ingest/record-ids.js';
import type { RowRef } from '../../../engine/store/store.js';
import { reservedColumns } from '../../../engine/store/arrow-columns.js';
import { countRows, type ChunkRows } from './chunk-rows.js';
import { readRows } from './read-rows.js';

/**
 * Upper limit of the number of rows of a segment. It allows a segment number and a row number to be stored as one integer that a double
 * holds exactly.
 */
const maxRowsPerSegment = 2 ** 31;

/** Returns the source record that a number in the column of row numbers stands for. */
export function sourceRowOf(number: number): RowRef {
  return [Math.floor(number / maxRowsPerSegment), number % maxRowsPerSegment];
}

/** Returns the batch with the reserved columns first, which have their values in the source, and with the column of row numbers last. */
export async function addSourceRowColumn(
  batch: Batch,
  rows: ChunkRows,
  column: Column,
): Promise<Batch> {
  const numbers = makeData({
    type: new Int64(),
    length: batch.rows,
    nullCount: 0,
    data: encodeSourceRows(rows),
  });
  const children = [...batch.data.data.children, numbers];
  const wholeBatch = makeBatch([...batch.columns, column], batch.rows, children);
  return withReservedColumns(
    { ...wholeBatch, seen: batch.seen },
    await readRows(rows, reservedColumns),
  );
}

function encodeSourceRows(rows: ChunkRows): BigInt64Array {
  const { segments, order } = rows;
  const numbers = new BigInt64Array(countRows(rows));
  const numberOf = (index: number, row: number): bigint =>
    BigInt(segments[index]!.number * maxRowsPerSegment + row);
  if (order !== undefined) {
    for (let i = 0; i < numbers.length; i++)
      numbers[i] = numberOf(order[2 * i]!, order[2 * i + 1]!);
    return numbers;
  }
  let at = 0;
  for (const [index, { segment, rows: own }] of segments.entries()) {
    const count = own === 'all' ? segment.rows : own.length;
    for (let i = 0; i < count; i++) numbers[at++] = numberOf(index, own === 'all' ? i : own[i]!);
  }
  return numbers;
}
