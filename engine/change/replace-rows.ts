import { makeData, RecordBatch, Struct, type Data, Int64 } from 'apache-arrow';
import type { CheckedFile } from '../core/block-checksums.js';
import { ascendingOrder } from '../core/ascending.js';
import type { Column, Columns } from '../core/types.js';
import { givenId } from '../ingest/physical-names.js';
import { arrowSchema, reservedColumns } from '../store/arrow.js';
import { presentColumns } from '../store/merge.js';
import { rowIdColumn } from '../store/row-ids.js';
import { flushSegment, writeUnflushed } from '../store/segment.js';
import type { Segment } from '../store/store.js';
import { interleaveColumns, isValid, pickRowsOf, validBits } from './interleave.js';
import { isWhole, updateValues } from './update-values.js';
import { readRows, type RowsToRead } from './stored-rows.js';

/** Records that replace others, and become one segment. */
export interface ReplaceOrder {
  /** The segments in the scratch folder that have them, and perhaps the column `givenId`. */
  readonly given: readonly StoredSegment[];
  /** The columns of the dataset after the change. */
  readonly columns: Columns;
  /** True if fields that a given record lacks keep their former values (`upsert`), false if they lose them (`overwrite`). */
  readonly keepsOthers: boolean;
  /** True if records are found by their `_id`, false if by other fields: a replaced record keeps its `_id`. */
  readonly isById: boolean;
  /** The rows that replace others; at least one. */
  readonly matches: RowMatches;
  readonly segments: readonly StoredSegment[];
  /** Absolute path of the segment that is written. */
  readonly path: string;
}

/** Records that replace none, and become one segment. */
export interface AddOrder {
  /** The segment in the scratch folder that has them, and perhaps the column `givenId`. */
  readonly given: StoredSegment;
  /** The columns of the dataset after the change. */
  readonly columns: Columns;
  /** The replaced rows in that segment, ascending; at least one. */
  readonly rows: Int32Array;
  /** Absolute path of the segment that is written. */
  readonly path: string;
}

/** A segment's file, and the columns that it stores. */
export interface StoredSegment extends CheckedFile {
  readonly columns: Columns;
}

/** Which rows replace which, ascending by row id: row `given[i]` of the file `files[i]` replaces row `rows[i]` of the segment `segments[i]`. */
export interface RowMatches {
  readonly files: Int32Array;
  readonly given: Int32Array;
  readonly segments: Int32Array;
  readonly rows: Int32Array;
  readonly rowIds: Float64Array;
}

/** Writes records as a segment, with row ids, that replaces rows of others. */
export async function replaceRows(order: ReplaceOrder): Promise<Segment> {
  const { given, columns, keepsOthers, isById, segments, matches, path } = order;
  const sources = [...given, ...(keepsOthers ? segments : [])].map((one) => one.columns);
  const columnsPresent = presentColumns(columns, sources);
  const id = isById ? [givenId] : [];
  const news = pickedRows(given, matches.files, matches.given, [
    commitColumn,
    ...id,
    ...columnsPresent,
  ]);
  const values = news.columns.slice(1 + id.length);
  const isRead = values.map((data, i) => keepsOthers && !isWhole(columnsPresent[i]!, data));
  const wantedColumns = [
    ...(isById ? [] : [idColumn]),
    ...columnsPresent.filter((_, i) => isRead[i]),
  ];
  const olds = pickedRows(segments, matches.segments, matches.rows, wantedColumns);
  let next = isById ? 0 : 1;
  const rows = { given: news.rows, old: olds.rows };
  const changedValues = values.map((data, i) =>
    isRead[i]
      ? updateValues(columnsPresent[i]!, data, olds.columns[next++]!, rows)
      : pickRowsOf(data, news.rows),
  );
  const ids = isById
    ? pickRowsOf(news.columns[1]!, news.rows)
    : pickRowsOf(olds.columns[0]!, olds.rows);
  const commits = pickRowsOf(news.columns[0]!, news.rows);
  const data = [ids, commits, rowIdData(matches.rowIds), ...changedValues];
  return { ...(await writeRows([rowIdColumn, ...columnsPresent], data, path)), isAscending: true };
}

/** Writes records as a segment, in their order; each keeps its given id or gets the id of its row. */
export async function addRows({ given, columns, rows, path }: AddOrder): Promise<Segment> {
  const columnsPresent = presentColumns(columns, [given.columns]);
  const read = readRows(
    [{ segment: given, columns: given.columns, rows }],
    [idColumn, commitColumn, givenId, ...columnsPresent],
  );
  const [own, commits, givenIds, ...values] = read as [Data, Data, Data, ...Data[]];
  const all = Int32Array.from(rows.keys());
  const givenBits = validBits(givenIds);
  const from = Uint8Array.from(all, (row) => (isValid(givenBits, row) ? 1 : 0));
  const ids = interleaveColumns([own, givenIds], { from, rows: all });
  return writeRows(columnsPresent, [ids, commits, ...values], path);
}

const [idColumn, commitColumn] = reservedColumns as [Column, Column];

/** Reads row `rows[i]` of segment `numbers[i]` for each i; returns the columns of the distinct rows, and the index in them for each i. */
function pickedRows(
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
interface RowRun {
  readonly number: number;
  readonly rows: Int32Array;
}

/** Rows in any order, which may repeat, as ascending runs by number of their segment; and the position of each row among those of all runs. */
export function ascendingRuns(
  numbers: Int32Array,
  rows: Int32Array,
): { readonly runs: readonly RowRun[]; readonly positions: Int32Array } {
  const keys = new Float64Array(rows.length);
  let greatestRow = 0;
  for (let i = 0; i < rows.length; i++) if (rows[i]! > greatestRow) greatestRow = rows[i]!;
  for (let i = 0; i < rows.length; i++) keys[i] = numbers[i]! * (greatestRow + 1) + rows[i]!;
  const order = ascendingOrder(keys);
  const positions = new Int32Array(rows.length);
  const distinct = new Int32Array(rows.length);
  const runs: RowRun[] = [];
  let [begin, end, number] = [0, 0, -1];
  const closeRun = (): void => {
    if (end === begin) return;
    runs.push({ number, rows: distinct.subarray(begin, end) });
    begin = end;
  };
  for (let at = 0; at < rows.length; at++) {
    const i = order?.[at] ?? at;
    if (numbers[i] !== number) {
      closeRun();
      number = numbers[i]!;
    }
    if (end === begin || distinct[end - 1] !== rows[i]) distinct[end++] = rows[i]!;
    positions[i] = end - 1;
  }
  closeRun();
  return { runs, positions };
}

/** The column of row ids. */
export function rowIdData(rowIds: Float64Array): Data {
  const halves = new Int32Array(2 * rowIds.length);
  for (let i = 0; i < rowIds.length; i++) {
    halves[2 * i] = rowIds[i]!; // modulo 2^32
    halves[2 * i + 1] = Math.floor(rowIds[i]! / 2 ** 32);
  }
  const data = new BigInt64Array(halves.buffer);
  return makeData({ type: new Int64(), length: rowIds.length, nullCount: 0, data });
}

/** Writes records as a segment and makes it durable; `children` are the reserved columns and `columns`. */
export async function writeRows(
  columns: Columns,
  children: readonly Data[],
  path: string,
): Promise<Segment> {
  const segment = await writeUnflushedRows(columns, children, path);
  await flushSegment(path);
  return segment;
}

/** As `writeRows`, but the segment is not durable yet. */
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
  return writeUnflushed({ columns, rows, data: new RecordBatch(schema, struct) }, path);
}
