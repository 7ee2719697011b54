import type { Data } from 'apache-arrow';
import { takeRows } from '../../../engine/change/interleave.js';
import { ascendingRuns } from '../../../engine/change/replace-rows.js';
import type { Column, Columns } from '../../../engine/core/types.js';
import { materialise } from '../../../engine/query/results/materialise.js';
import { openSegments } from '../../../engine/query/results/row-blocks.js';
import { reservedColumns } from '../../../engine/store/arrow-columns.js';
import { presentColumns } from '../../../engine/store/merge-segments.js';
import { readColumns } from '../../../engine/store/read-columns.js';
import { countRows, type ChunkRows, type ChunkSegment } from './chunk-rows.js';

/**
 * Minimum share of the rows of a chunk's segments from which on the segments are read as a whole; below it, only the pages with wanted rows
 * are read. `minOrderedShareToReadWhole` applies to rows in an order of their own: they are spread over all pages, and reading them page by
 * page would keep every page in memory.
 */
const minShareToReadWhole = 1 / 8;
const minOrderedShareToReadWhole = 1 / 1024;

/** Returns the columns, and their members, that exist in at least one of the segments of a chunk. */
export function columnsOfChunk({ segments }: ChunkRows, columns: Columns): Columns {
  const columnsBySegment = segments.map(({ segment }) => [...reservedColumns, ...segment.columns]);
  return presentColumns(columns, columnsBySegment).flatMap(dropEmptyObjects);
}

/** Returns the column without objects that have no members in the chunk, because Parquet cannot store such objects. */
function dropEmptyObjects(column: Column): Columns {
  if (column.children === undefined) return [column];
  const children = column.children.flatMap(dropEmptyObjects);
  return children.length === 0 ? [] : [{ ...column, children }];
}

/** Returns the values of the rows of a chunk as Arrow columns, one for each of `columns`, which at least one of the segments has. */
export async function readRows(rows: ChunkRows, columns: Columns): Promise<readonly Data[]> {
  const { segments, order } = rows;
  if (columns.length === 0) return [];
  if (order === undefined && !segments.every(areRowsAscending))
    return readRows({ segments, order: rowReferencePairs(rows) }, columns);
  const segmentRows = segments.reduce((sum, { segment }) => sum + segment.rows, 0);
  const count = countRows(rows);
  if (order === undefined && count >= segmentRows * minShareToReadWhole)
    return readWholeSegments(segments, columns);
  if (order !== undefined && count >= segmentRows * minOrderedShareToReadWhole) {
    const { runs, positions } = ascendingRuns(
      alternateNumbers(order, 0),
      alternateNumbers(order, 1),
    );
    const rowsByIndex = new Map(runs.map((run) => [run.number, run.rows]));
    const ascendingSegments = segments.map((one, i) => ({
      ...one,
      rows: rowsByIndex.get(i) ?? noRows,
    }));
    const data = await readWholeSegments(ascendingSegments, columns);
    return data.map((column) => takeRows(column, positions));
  }
  const source = openSegments(
    segments.map(({ file, segment: { blockChecksums } }) => ({ path: file, blockChecksums })),
  );
  const projection = columns.map((column) => ({ column, isStored: true }));
  try {
    return materialise(source, rowReferencePairs(rows), projection, 'columns').data.children;
  } finally {
    source.close();
  }
}

function readWholeSegments(
  segments: readonly ChunkSegment[],
  columns: Columns,
): Promise<readonly Data[]> {
  return readColumns(
    segments.map((one) => ({ ...one, leftOut: unselectedRows(one) })),
    columns,
  );
}

const noRows = new Int32Array(0);

function alternateNumbers(pairs: Int32Array, from: 0 | 1): Int32Array {
  const numbers = new Int32Array(pairs.length / 2);
  for (let i = 0; i < numbers.length; i++) numbers[i] = pairs[2 * i + from]!;
  return numbers;
}

/** Returns the chunk without the records whose byte in `droppedFlags` is 1. */
export function dropRecords(rows: ChunkRows, droppedFlags: Uint8Array): ChunkRows {
  const { segments, order } = rows;
  if (order !== undefined)
    return { segments, order: order.filter((_, i) => droppedFlags[i >> 1] === 0) };
  let recordsBefore = 0;
  return {
    segments: segments.map((one) => {
      const ownRows = selectedRows(one);
      const firstRecord = recordsBefore;
      recordsBefore += ownRows.length;
      return { ...one, rows: ownRows.filter((_, i) => droppedFlags[firstRecord + i] === 0) };
    }),
  };
}

/**
 * Whether the rows are in the order of the segment. They are not if they are sorted by row id and no merge has sorted the segment by it.
 */
function areRowsAscending({ rows }: ChunkSegment): boolean {
  return rows === 'all' || rows.every((row, i) => i === 0 || rows[i - 1]! < row);
}

/** Returns the rows of a segment, given in ascending order, that are not in the chunk. */
function unselectedRows({ segment, rows }: ChunkSegment): Int32Array {
  if (rows === 'all') return noRows;
  const otherRows = new Int32Array(segment.rows - rows.length);
  let count = 0;
  let nextSelected = 0;
  for (let row = 0; row < segment.rows; row++) {
    if (rows[nextSelected] === row) nextSelected++;
    else otherRows[count++] = row;
  }
  return otherRows;
}

function selectedRows({ segment, rows }: ChunkSegment): Int32Array {
  return rows === 'all' ? Int32Array.from({ length: segment.rows }, (_, row) => row) : rows;
}

/** Returns the rows of a chunk as pairs of an index of a segment and a row number. */
function rowReferencePairs(chunk: ChunkRows): Int32Array {
  const { segments, order } = chunk;
  if (order !== undefined) return order;
  const refs = new Int32Array(2 * countRows(chunk));
  let end = 0;
  for (const [index, segment] of segments.entries())
    for (const row of selectedRows(segment)) {
      refs[end++] = index;
      refs[end++] = row;
    }
  return refs;
}
