import { takeRows } from '../../../engine/change/interleave.js';
import type { Columns } from '../../../engine/core/types.js';
import { makeBatch } from '../../../engine/ingest/batch.js';
import { reservedColumns } from '../../../engine/store/arrow-columns.js';
import { writeSegmentUnflushed } from '../../../engine/store/segment.js';
import type { Segment } from '../../../engine/store/store.js';
import type { ChunkRows } from './chunk-rows.js';
import { columnsOfChunk, readRows } from './read-rows.js';

/** Rows to be divided among segments of the scratch folder, for a pool thread: plain data. */
export interface PartitionJobInput {
  readonly rows: ChunkRows;
  /** The columns of the dataset that are written in addition to the reserved ones. */
  readonly columns: Columns;
  /** For each partition, the number of rows in it and all earlier partitions. */
  readonly ends: readonly number[];
  /** The absolute path of the segment of each partition. */
  readonly files: readonly string[];
}

/**
 * Reads the rows once and writes each partition as an intermediate segment; returns the segments in order, with null for a partition
 * without rows.
 */
export async function partitionRows({
  rows,
  columns,
  ends,
  files,
}: PartitionJobInput): Promise<readonly (Segment | null)[]> {
  const columnsPresent = columnsOfChunk(rows, columns);
  const wholeColumns = [...reservedColumns, ...columnsPresent];
  const columnData = await readRows(rows, wholeColumns);
  const writtenSegments: (Segment | null)[] = [];
  let begin = 0;
  for (const [partition, end] of ends.entries()) {
    const length = end - begin;
    const ownIndices = Int32Array.from({ length }, (_, i) => begin + i);
    begin = end;
    if (length === 0) {
      writtenSegments.push(null);
      continue;
    }
    const { data } = makeBatch(
      wholeColumns,
      length,
      columnData.map((column) => takeRows(column, ownIndices)),
    );
    const input = { columns: columnsPresent, rows: length, data, isIntermediate: true };
    writtenSegments.push(await writeSegmentUnflushed(input, files[partition]!));
  }
  return writtenSegments;
}
