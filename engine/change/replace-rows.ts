import { makeData, RecordBatch, Struct, type Data, Int64 } from 'apache-arrow';
import type { ChecksummedFile } from '../core/block-checksums.js';
import { ascendingOrder } from '../core/sorted-sets.js';
import type { Column, Columns } from '../core/types.js';
import { computedMarksColumn, givenIdColumn } from '../ingest/physical-names.js';
import { arrowSchema, reservedColumns } from '../store/arrow-columns.js';
import { presentColumns } from '../store/merge-segments.js';
import { rowIdColumn } from '../store/row-ids.js';
import { flushSegment, writeSegmentUnflushed } from '../store/segment.js';
import type { Segment } from '../store/store.js';
import { interleaveColumns, isValid, takeRows, validityBitmap } from './interleave.js';
import {
  clearedRowsOf,
  isCompleteReplacement,
  updateValues,
  type ClearedField,
} from './update-values.js';
import { readRows, type RowsToRead } from './stored-rows.js';

/** Records that replace others; they are written as one segment. */
export interface ReplaceRowsInput {
  /**
   * The segments in the scratch folder that contain the new records, possibly with the columns `givenIdColumn` and `computedMarksColumn`.
   */
  readonly given: readonly StoredSegment[];
  /** The columns of the dataset after the change. */
  readonly columns: Columns;
  /** Whether fields that a new record lacks keep their former values (`upsert`) or lose them (`overwrite`). */
  readonly keepsOthers: boolean;
  /** Fields that lose their former values also if `keepsOthers`, in all records or in the marked ones. */
  readonly cleared: readonly ClearedField[];
  /** Whether records are identified by their `_id`; if they are identified by other fields, a replaced record keeps its `_id`. */
  readonly isById: boolean;
  /** Which new rows replace which stored rows; at least one. */
  readonly matches: RowMatches;
  readonly segments: readonly StoredSegment[];
  /** Absolute path of the segment to write. */
  readonly path: string;
}

/** Records that replace no others; they are written as one segment. */
export interface AddRowsInput {
  /** The segment in the scratch folder that contains the records, possibly with the column `givenIdColumn`. */
  readonly given: StoredSegment;
  /** The columns of the dataset after the change. */
  readonly columns: Columns;
  /** The rows of `given` to write, ascending; at least one. */
  readonly rows: Int32Array;
  /** Absolute path of the segment to write. */
  readonly path: string;
}

/** A segment's file, and the columns that it stores. */
interface StoredSegment extends ChecksummedFile {
  readonly columns: Columns;
}

/**
 * Which rows replace which, in ascending order of row ids: row `given[i]` of the file `files[i]` replaces row `rows[i]` of the segment
 * `segments[i]`.
 */
export interface RowMatches {
  readonly files: Int32Array;
  readonly given: Int32Array;
  readonly segments: Int32Array;
  readonly rows: Int32Array;
  readonly rowIds: Float64Array;
}

/** Writes records, with row ids, as a segment that replaces rows of other segments. */
export async function replaceRows(input: ReplaceRowsInput): Promise<Segment> {
  const { given, columns, keepsOthers, cleared, isById, segments, matches, path } = input;
  const columnsOfSources = [...given, ...(keepsOthers ? segments : [])].map((one) => one.columns);
  const columnsPresent = presentColumns(columns, columnsOfSources);
  const id = isById ? [givenIdColumn] : [];
  const marks = given.some((one) => one.columns.some(isMarksColumn)) ? [computedMarksColumn] : [];
  const newRows = readDistinctRows(given, matches.files, matches.given, [
    commitColumn,
    ...id,
    ...marks,
    ...columnsPresent,
  ]);
  const newValues = newRows.columns.slice(1 + id.length + marks.length);
  const needsOldValues = newValues.map(
    (data, i) => keepsOthers && !isCompleteReplacement(columnsPresent[i]!, data),
  );
  const oldColumns = [
    ...(isById ? [] : [idColumn]),
    ...columnsPresent.filter((_, i) => needsOldValues[i]),
  ];
  const oldRows = readDistinctRows(segments, matches.segments, matches.rows, oldColumns);
  let nextOldColumn = isById ? 0 : 1;
  const rowPairs = { given: newRows.rows, old: oldRows.rows };
  const clearedRows = clearedRowsOf(cleared, marks.length > 0 ? newRows.columns[1 + id.length] : undefined); // prettier-ignore
  const changedValues = newValues.map((data, i) =>
    needsOldValues[i]
      ? updateValues(
          columnsPresent[i]!,
          data,
          oldRows.columns[nextOldColumn++]!,
          rowPairs,
          clearedRows,
        )
      : takeRows(data, newRows.rows),
  );
  const ids = isById
    ? takeRows(newRows.columns[1]!, newRows.rows)
    : takeRows(oldRows.columns[0]!, oldRows.rows);
  const commits = takeRows(newRows.columns[0]!, newRows.rows);
  const data = [ids, commits, rowIdData(matches.rowIds), ...changedValues];
  return { ...(await writeRows([rowIdColumn, ...columnsPresent], data, path)), isAscending: true };
}

/**
 * Writes records as a segment, in their order. A record keeps the `_id` that was given with it, or else the `_id` that it has in the
 * scratch folder.
 */
export async function addRows({ given, columns, rows, path }: AddRowsInput): Promise<Segment> {
  const columnsPresent = presentColumns(columns, [given.columns]);
  const columnData = readRows(
    [{ segment: given, columns: given.columns, rows }],
    [idColumn, commitColumn, givenIdColumn, ...columnsPresent],
  );
  const [ownIds, commits, givenIds, ...values] = columnData as [Data, Data, Data, ...Data[]];
  const allRows = Int32Array.from(rows.keys());
  const givenBits = validityBitmap(givenIds);
  const from = Uint8Array.from(allRows, (row) => (isValid(givenBits, row) ? 1 : 0));
  const ids = interleaveColumns([ownIds, givenIds], { from, rows: allRows });
  return writeRows(columnsPresent, [ids, commits, ...values], path);
}

const isMarksColumn = ({ physical }: Column): boolean => physical === computedMarksColumn.physical;

const [idColumn, commitColumn] = reservedColumns as [Column, Column];

/**
 * Reads row `rows[i]` of segment `numbers[i]` for each i; returns columns with each distinct row once, and for each i the index of its row
 * in them. Without `columns`, reads nothing and returns `rows` as they are.
 */
function readDistinctRows(
  segments: readonly StoredSegment[],
  numbers: Int32Array,
  rows: Int32Array,
  columns: Columns,
): { readonly columns: readonly Data[]; readonly rows: Int32Array } {
  if (columns.length === 0) return { columns: [], rows };
  const { runs, positions } = ascendingRuns(numbers, rows);
  const sources = runs.map((run): RowsToRead => {
    const segment = segments[run.number]!;
    return { segment, columns: segment.columns, rows: run.rows };
  });
  return { columns: readRows(sources, columns), rows: positions };
}

/** Distinct rows of one segment, ascending. */
interface SegmentRowRun {
  readonly number: number;
  readonly rows: Int32Array;
}

/**
 * Divides rows, which may be in any order and occur repeatedly, into one ascending run per segment; also returns the position of each row
 * among the rows of all runs.
 */
export function ascendingRuns(
  numbers: Int32Array,
  rows: Int32Array,
): { readonly runs: readonly SegmentRowRun[]; readonly positions: Int32Array } {
  const keys = new Float64Array(rows.length);
  let greatestRow = 0;
  for (let i = 0; i < rows.length; i++) if (rows[i]! > greatestRow) greatestRow = rows[i]!;
  for (let i = 0; i < rows.length; i++) keys[i] = numbers[i]! * (greatestRow + 1) + rows[i]!;
  const order = ascendingOrder(keys);
  const positions = new Int32Array(rows.length);
  const distinctRows = new Int32Array(rows.length);
  const runs: SegmentRowRun[] = [];
  let [begin, end, number] = [0, 0, -1];
  const closeRun = (): void => {
    if (end === begin) return;
    runs.push({ number, rows: distinctRows.subarray(begin, end) });
    begin = end;
  };
  for (let at = 0; at < rows.length; at++) {
    const i = order?.[at] ?? at;
    if (numbers[i] !== number) {
      closeRun();
      number = numbers[i]!;
    }
    if (end === begin || distinctRows[end - 1] !== rows[i]) distinctRows[end++] = rows[i]!;
    positions[i] = end - 1;
  }
  closeRun();
  return { runs, positions };
}

/** Returns row ids as an Arrow column. */
export function rowIdData(rowIds: Float64Array): Data {
  const halves = new Int32Array(2 * rowIds.length);
  for (let i = 0; i < rowIds.length; i++) {
    halves[2 * i] = rowIds[i]!; // the low 32 bits: the assignment takes the number modulo 2^32
    halves[2 * i + 1] = Math.floor(rowIds[i]! / 2 ** 32);
  }
  const data = new BigInt64Array(halves.buffer);
  return makeData({ type: new Int64(), length: rowIds.length, nullCount: 0, data });
}

/** Writes records as a segment and makes it durable. `children` are the data of the reserved columns, followed by those of `columns`. */
export async function writeRows(
  columns: Columns,
  children: readonly Data[],
  path: string,
): Promise<Segment> {
  const segment = await writeUnflushedRows(columns, children, path);
  await flushSegment(path);
  return segment;
}

/** Writes records as a segment, like `writeRows`, but without making it durable. */
export async function writeUnflushedRows(
  columns: Columns,
  children: readonly Data[],
  path: string,
): Promise<Segment> {
  const schema = arrowSchema(columns);
  const rows = children[0]!.length;
  const struct = makeData({
    type: new Struct(schema.fields),
    length: rows,
    nullCount: 0,
    children: [...children],
  });
  return writeSegmentUnflushed({ columns, rows, data: new RecordBatch(schema, struct) }, path);
}
