import type { Data } from 'apache-arrow';
import { ascendingOrder } from '../core/sorted-sets.js';
import { concatenateArrays } from '../core/buffers.js';
import type { Columns } from '../core/types.js';
import { recordIdAfterRows, parseRecordId } from '../ingest/record-ids.js';
import { SegmentFile } from '../store/segment-file.js';
import { reservedColumns } from '../store/arrow-columns.js';
import { deletedRows, deletionVector } from '../store/deletion-vector.js';
import { presentColumns, type MergeSource } from '../store/merge-segments.js';
import { encodeOrigins, type EncodedOrigins } from '../store/origins.js';
import { maxIdRuns, rowIdColumn } from '../store/row-ids.js';
import type { IdRun, Segment } from '../store/store.js';
import { storedRowIds } from './find-rows.js';
import { takeRows } from './interleave.js';
import { rowIdData, writeRows } from './replace-rows.js';
import { readRows, type RowsToRead } from './stored-rows.js';

/** The row ids from `from` to before `to`, either of records or of deleted rows. */
export interface RowIdSpan {
  readonly from: number;
  readonly to: number;
  readonly isDeleted: boolean;
}

/** Segments whose rows are to be divided into spans, or sorted within one span. */
interface SortSources {
  readonly sources: readonly MergeSource[];
}

/** The input of `spansOf`. */
export interface SpanInput extends SortSources {
  readonly rowsPerSpan: number;
  readonly dropsDeleted: boolean;
}

/** The input of `sortRows`. */
export interface SortRowsInput extends SortSources {
  readonly span: RowIdSpan;
  /** The columns of the dataset. */
  readonly columns: Columns;
  /** Absolute path of the segment to write. */
  readonly file: string;
}

/** A segment whose rows are in the order of their row ids. */
export interface SortedSegment {
  readonly segment: Segment;
  /** For each row, the segment and row from which it comes, encoded as in the log. */
  readonly origins: EncodedOrigins;
}

/** The row ids of a segment, and which of its rows are deleted. */
interface RowIdsWithDeletions {
  readonly ids: Float64Array;
  /** One byte for each row: 1 if it is deleted. */
  readonly deletedFlags: Uint8Array;
}

/**
 * Divides the records of several segments by their row ids into as few spans as possible of at most `rowsPerSpan` rows each, or of more if
 * several rows have one row id. Unless `dropsDeleted`, spans of the deleted rows follow.
 */
export function spansOf({ sources, rowsPerSpan, dropsDeleted }: SpanInput): readonly RowIdSpan[] {
  const classes = dropsDeleted ? [false] : [false, true];
  return classes.flatMap((isDeleted) => {
    const idsBySource = sources.map((source) => rowIdsOf(source, isDeleted));
    const ids = concatenateArrays(Float64Array, idsBySource).sort();
    const count = ids.length;
    if (count === 0) return [];
    const spans: RowIdSpan[] = [];
    const evenRowsPerSpan = Math.ceil(count / Math.ceil(count / rowsPerSpan));
    let from = ids[0]!;
    for (let next = evenRowsPerSpan; next < count; next += evenRowsPerSpan) {
      const to = ids[next]!;
      if (to > from) spans.push({ from, to, isDeleted });
      from = to;
    }
    spans.push({ from, to: ids[count - 1]! + 1, isDeleted });
    return spans;
  });
}

function rowIdsOf(source: MergeSource, isDeleted: boolean): Float64Array {
  const { ids, deletedFlags } = readRowIds(source);
  return ids.filter((_, row) => (deletedFlags[row] === 1) === isDeleted);
}

function readRowIds({ file: path, segment }: MergeSource): RowIdsWithDeletions {
  const { rows, deletion, baseRowId, blockChecksums } = segment;
  const deletedFlags = new Uint8Array(rows);
  if (deletion) for (const row of deletedRows(deletion)) deletedFlags[row] = 1;
  if (baseRowId !== undefined)
    return { ids: Float64Array.from({ length: rows }, (_, row) => baseRowId + row), deletedFlags };
  const file = new SegmentFile({ path, blockChecksums });
  try {
    return { ids: storedRowIds(file), deletedFlags };
  } finally {
    file.close();
  }
}

/** Writes the rows of a span as one segment, in the order of their row ids. In a span of deleted rows, all rows are marked as deleted. */
export async function sortRows({
  sources,
  span,
  columns,
  file,
}: SortRowsInput): Promise<SortedSegment> {
  const pickedRows = sources.map((source) => rowsWithin(readRowIds(source), span));
  const count = pickedRows.reduce((sum, { rows }) => sum + rows.length, 0);
  const sourceNumbers = new Uint32Array(count);
  let end = 0;
  for (const [number, one] of pickedRows.entries())
    sourceNumbers.fill(number, end, (end += one.rows.length));
  const rows = concatenateArrays(Int32Array, pickedRows.map((one) => one.rows)); // prettier-ignore
  const unsortedIds = concatenateArrays(Float64Array, pickedRows.map((one) => one.ids)); // prettier-ignore
  const allRows = Int32Array.from({ length: count }, (_, row) => row);
  const order = ascendingOrder(unsortedIds) ?? allRows;
  const ids = Float64Array.from(order, (place) => unsortedIds[place]!);
  const columnsPresent = presentColumns(columns, sources.map(({ segment }) => segment.columns)); // prettier-ignore
  const data = readSpanRows(sources, pickedRows, [...reservedColumns, ...columnsPresent]);
  const [recordIds, commits, ...values] = data.map((column) => takeRows(column, order));
  const isConsecutive = !span.isDeleted && ids[count - 1]! - ids[0]! === count - 1;
  const segment = await writeRows(
    isConsecutive ? columnsPresent : [rowIdColumn, ...columnsPresent],
    [recordIds!, commits!, ...(isConsecutive ? [] : [rowIdData(ids)]), ...values],
    file,
  );
  const origins = encodeOrigins({
    sources: Uint32Array.from(order, (place) => sourceNumbers[place]!),
    rows: Int32Array.from(order, (place) => rows[place]!),
  });
  return {
    segment: {
      ...segment,
      ...(isConsecutive ? { baseRowId: ids[0]! } : { isAscending: isAscending(ids) }),
      idRuns: span.isDeleted ? undefined : idRunsOf(ids, sources),
      ...(span.isDeleted && { deletion: deletionVector(allRows) }),
    },
    origins,
  };
}

/** Rows of a segment, ascending, and their row ids. */
interface RowsInSpan {
  readonly rows: Int32Array;
  readonly ids: Float64Array;
}

function rowsWithin(
  { ids, deletedFlags }: RowIdsWithDeletions,
  { from, to, isDeleted }: RowIdSpan,
): RowsInSpan {
  const flag = isDeleted ? 1 : 0;
  const rows: number[] = [];
  for (let row = 0; row < ids.length; row++)
    if (deletedFlags[row] === flag && ids[row]! >= from && ids[row]! < to) rows.push(row);
  return { rows: Int32Array.from(rows), ids: Float64Array.from(rows, (row) => ids[row]!) };
}

function readSpanRows(
  sources: readonly MergeSource[],
  pickedRows: readonly RowsInSpan[],
  columns: Columns,
): readonly Data[] {
  const reads: RowsToRead[] = [];
  for (const [i, { file: path, segment }] of sources.entries()) {
    const { rows } = pickedRows[i]!;
    if (rows.length === 0) continue;
    const isWhole = rows.length === segment.rows;
    const checkedFile = { path, blockChecksums: segment.blockChecksums };
    reads.push({ segment: checkedFile, columns: segment.columns, rows: isWhole ? 'all' : rows });
  }
  return readRows(reads, columns);
}

function isAscending(ids: Float64Array): boolean {
  return ids.every((id, i) => i === 0 || id > ids[i - 1]!);
}

/**
 * Returns the `_id`s of rows as runs, from the segments whose log entries have them: a record that replaces another has the same row id and
 * `_id`. Returns undefined if the `_id` of a row is not known, or if there are too many runs.
 */
function idRunsOf(
  ids: Float64Array,
  sources: readonly MergeSource[],
): readonly IdRun[] | undefined {
  const knownRuns = sources.flatMap(({ segment: { baseRowId, idRuns = [] } }) => {
    let nextRowId = baseRowId;
    return idRuns.flatMap((run) => {
      if (nextRowId === undefined) return [];
      nextRowId += run.rows;
      return [{ ...run, from: nextRowId - run.rows, to: nextRowId }];
    });
  });
  const runs: { firstId: string; rows: number; chunk: string; next: number }[] = [];
  let knownRun: (typeof knownRuns)[number] | undefined;
  let [chunk, first] = ['', 0];
  for (const id of ids) {
    if (knownRun === undefined || id < knownRun.from || id >= knownRun.to) {
      knownRun = knownRuns.find(({ from, to }) => id >= from && id < to);
      if (knownRun === undefined) return undefined;
      [chunk, first] = parseRecordId(knownRun.firstId)!;
    }
    const rowInChunk = first + id - knownRun.from;
    const run = runs.at(-1);
    if (run !== undefined && run.chunk === chunk && run.next === rowInChunk) {
      run.rows++;
      run.next++;
      continue;
    }
    if (runs.length === maxIdRuns) return undefined;
    runs.push({ firstId: recordIdAfterRows(knownRun.firstId, id - knownRun.from), rows: 1, chunk, next: rowInChunk + 1 }); // prettier-ignore
  }
  return runs.map(({ firstId, rows }) => ({ firstId, rows }));
}
