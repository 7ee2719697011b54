import { taken } from '../../../engine/change/interleave.js';
import type { Columns } from '../../../engine/core/types.js';
import { makeBatch } from '../../../engine/ingest/batch.js';
import { reservedColumns } from '../../../engine/store/arrow.js';
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

/** Reads the rows once and writes those of each partition as an intermediate segment, in their order; null for one without rows. */
export async function partitionRows({
  rows,
  columns,
  ends,
  files,
}: PartitionOrder): Promise<readonly (Segment | null)[]> {
  const present = columnsIn(rows, columns);
  const whole = [...reservedColumns, ...present];
  const read = await readRows(rows, whole);
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
    const { data } = makeBatch(
      whole,
      length,
      read.map((column) => taken(column, own)),
    );
    const input = { columns: present, rows: length, data, isIntermediate: true };
    written.push(await writeUnflushed(input, files[partition]!));
  }
  return written;
}
