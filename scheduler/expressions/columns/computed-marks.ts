import { Utf8 } from 'apache-arrow';
import { makeArrowData } from '../../../engine/change/interleave.js';
import { makeBatch, type Batch } from '../../../engine/ingest/batch.js';
import { computedMarksColumn } from '../../../engine/ingest/physical-names.js';

/**
 * Adds `computedMarksColumn` to the records of an upsert. `names` are the fields that are computed for some records only, in the order of
 * their marks. The column is not among the columns seen, because no dataset stores it.
 */
export function withComputedMarks(
  batch: Batch,
  names: readonly string[],
  isComputed: (name: string, row: number) => boolean,
): Batch {
  const { rows } = batch;
  const data = new Uint8Array(rows * names.length);
  for (const [i, name] of names.entries())
    for (let row = 0; row < rows; row++)
      data[row * names.length + i] = isComputed(name, row) ? 0x31 : 0x30; // "1" or "0"
  const valueOffsets = Int32Array.from({ length: rows + 1 }, (_, row) => row * names.length);
  const marks = makeArrowData<Utf8>({
    type: new Utf8(),
    length: rows,
    nullCount: 0,
    nullBitmap: undefined,
    valueOffsets,
    data,
  });
  const columns = [...batch.columns, computedMarksColumn];
  const markedBatch = makeBatch(columns, rows, [...batch.data.data.children, marks]);
  return { ...markedBatch, seen: batch.seen };
}
