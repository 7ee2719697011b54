import { makeData, RecordBatch, Struct } from 'apache-arrow';
import { taken } from '../../../engine/change/interleave.js';
import type { Columns } from '../../../engine/core/types.js';
import { arrowSchema, reservedColumns } from '../../../engine/store/arrow.js';
import { writeUnflushed } from '../../../engine/store/segment.js';
import type { Segment } from '../../../engine/store/store.js';
import type { ChunkRows } from './chunk-rows.js';
import { columnsIn, readRows } from './read-rows.js';

/** Rows to be divided among segments of the scratch folder, for a pool thread: plain data. */
export interface PartitionOrder {
  readonly rows: ChunkRows;
  /** The columns of the dataset that are kept besides the reserved ones. */
  readonly columns: Columns;
  /** For each partition, the number of rows in it and in those before it. */
  readonly ends: readonly number[];
  /** The absolute path of the segment of each partition. */
  readonly files: readonly string[];
}

/** Reads the rows once and writes those of each partition as a segment, in their order; null for one without rows. */
export async function partitionRows({
  rows,
  columns,
  ends,
  files,
}: PartitionOrder): Promise<readonly (Segment | null)[]> {
  const present = columnsIn(rows, columns);
  const data = await readRows(rows, [...reservedColumns, ...present]);
  const schema = arrowSchema(present);
  const type = new Struct(schema.fields);
  const written: (Segment | null)[] = [];
  let begin = 0;
  for (const [partition, end] of ends.entries()) {
    const length = end - begin;
    const own = Int32Array.from({ length }, (_, i) => begin + i);
    begin = end;
    if (length === 0) {
      written.push(null);
      continue;
    }
    const children = data.map((column) => taken(column, own));
    const batch = new RecordBatch(schema, makeData({ type, length, nullCount: 0, children }));
    const input = { columns: present, rows: length, data: batch, isIntermediate: true };
    written.push(await writeUnflushed(input, files[partition]!));
  }
  return written;
}
