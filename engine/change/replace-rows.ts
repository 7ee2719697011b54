import { makeData, RecordBatch, Struct, type Data, Int64 } from 'apache-arrow';
import type { CheckedFile } from '../core/block-checksums.js';
import type { Columns } from '../core/types.js';
import { givenId } from '../ingest/physical-names.js';
import { SegmentFile } from '../query/memory/segment-file.js';
import { arrowSchema, reservedColumns } from '../store/arrow.js';
import { presentColumns } from '../store/merge.js';
import { rowIdColumn } from '../store/row-ids.js';
import { flushSegment, writeUnflushed } from '../store/segment.js';
import type { Segment } from '../store/store.js';
import { interleaved, isValid, taken } from './interleave.js';
import { isWhole, updated } from './update-values.js';
import { readRows, type RowsToRead } from './stored-rows.js';

/** Records that replace others. */
export interface ReplaceOrder {
  /** The segment in the scratch folder that has them, and perhaps the column `givenId`. */
  readonly given: StoredSegment;
  /** The columns of the dataset after the change. */
  readonly columns: Columns;
  /** True if fields that a record does not have keep the values that they had (`upsert`), false if they lose them (`overwrite`). */
  readonly keepsOthers: boolean;
  /** True if records are found by their `_id`, false if by other fields: a replaced record keeps its `_id`. */
  readonly isById: boolean;
  readonly matches: RowMatches;
  readonly segments: readonly StoredSegment[];
  /** Absolute path of the segments that are written, without a number and `.parquet`. */
  readonly path: string;
}

/** A segment's file, and the columns that it stores. */
export interface StoredSegment extends CheckedFile {
  readonly columns: Columns;
}

/** Which rows replace which, ascending by row id: row `given[i]` replaces row `rows[i]` of the segment `segments[i]`. */
export interface RowMatches {
  readonly given: Int32Array;
  readonly segments: Int32Array;
  readonly rows: Int32Array;
  readonly rowIds: Float64Array;
}

/** The segments that were written. */
export interface ReplacedRows {
  /** With row ids: the records that replace others. */
  readonly replacing: readonly Segment[];
  /** The records that replace none, in their order; null if there are none. */
  readonly added: Segment | null;
}

/** Records in a segment that replaces rows, at most. */
const maxRows = 1 << 17;

/** Writes the records of a segment as segments that replace rows of others, and one of those that replace none. */
export async function replaceRows(order: ReplaceOrder): Promise<ReplacedRows> {
  const { given, columns, keepsOthers, segments, matches, path } = order;
  const sources = [given, ...(keepsOthers ? segments : [])].map((one) => one.columns);
  const present = presentColumns(columns, sources);
  const file = new SegmentFile(given);
  try {
    const all = readRows([{ file, columns: given.columns, rows: 'all' }], [givenId, ...present]);
    const [ids, commits, givenIds, ...values] = all as [Data, Data, Data, ...Data[]];
    const records = { ids, commits, givenIds, values };
    const replacing: Segment[] = [];
    for (let first = 0; first < matches.given.length; first += maxRows) {
      const some = part(matches, first, first + maxRows);
      const data = replacements(records, order, some, present);
      replacing.push({
        ...(await writeRows(
          [rowIdColumn, ...present],
          data,
          `${path}-${replacing.length}.parquet`,
        )),
        isAscending: true,
      });
    }
    const rest = others(matches.given, file.rows);
    const added =
      rest.length === 0
        ? null
        : await writeRows(present, additions(records, rest), `${path}-added.parquet`);
    return { replacing, added };
  } finally {
    file.close();
  }
}

/** The columns of the given records. */
interface GivenRecords {
  readonly ids: Data;
  readonly commits: Data;
  /** Null where a record was given no id. */
  readonly givenIds: Data;
  readonly values: readonly Data[];
}

function part({ given, segments, rows, rowIds }: RowMatches, from: number, to: number): RowMatches {
  return {
    given: given.subarray(from, to),
    segments: segments.subarray(from, to),
    rows: rows.subarray(from, to),
    rowIds: rowIds.subarray(from, to),
  };
}

/** The columns of the records that replace others, the reserved ones first. */
function replacements(
  { givenIds, commits, values }: GivenRecords,
  { keepsOthers, isById, segments }: ReplaceOrder,
  matches: RowMatches,
  present: Columns,
): readonly Data[] {
  const { given } = matches;
  const isRead = values.map((data, i) => keepsOthers && !isWhole(present[i]!, data, given));
  const wanted = present.filter((_, i) => isRead[i]);
  const isNeeded = !isById || wanted.length > 0;
  const replaced = isNeeded ? replacedRows(segments, matches, wanted) : undefined;
  const ids = isById ? taken(givenIds, given) : taken(replaced!.columns[0]!, replaced!.rows);
  let next = reservedColumns.length;
  const changed = values.map((data, i) =>
    isRead[i]
      ? updated(present[i]!, data, replaced!.columns[next++]!, { given, old: replaced!.rows })
      : taken(data, given),
  );
  return [ids, taken(commits, given), rowIdData(matches.rowIds), ...changed];
}

/** The rows that are replaced, as read from their segments, and for each match the row among them. */
function replacedRows(
  segments: readonly StoredSegment[],
  matches: RowMatches,
  columns: Columns,
): { readonly columns: readonly Data[]; readonly rows: Int32Array } {
  const order = Int32Array.from(matches.rows.keys()).sort(
    (a, b) => matches.segments[a]! - matches.segments[b]! || matches.rows[a]! - matches.rows[b]!,
  );
  const rows = new Int32Array(order.length);
  const sources: RowsToRead[] = [];
  try {
    for (let from = 0; from < order.length;) {
      const number = matches.segments[order[from]!]!;
      let to = from;
      while (to < order.length && matches.segments[order[to]!] === number) rows[order[to]!] = to++;
      const own = order.subarray(from, to).map((match) => matches.rows[match]!);
      const segment = segments[number]!;
      sources.push({ file: new SegmentFile(segment), columns: segment.columns, rows: own });
      from = to;
    }
    return { columns: readRows(sources, columns), rows };
  } finally {
    for (const { file } of sources) file.close();
  }
}

/** The column of these row ids. */
export function rowIdData(rowIds: Float64Array): Data {
  const data = BigInt64Array.from(rowIds, BigInt);
  return makeData({ type: new Int64(), length: rowIds.length, nullCount: 0, data });
}

/** The columns of the records that replace none: each has the id that it was given, or that of its row. */
function additions(
  { ids, commits, givenIds, values }: GivenRecords,
  rows: Int32Array,
): readonly Data[] {
  const from = Uint8Array.from(rows, (row) => (isValid(givenIds, row) ? 1 : 0));
  return [
    interleaved([ids, givenIds], { from, rows }),
    taken(commits, rows),
    ...values.map((column) => taken(column, rows)),
  ];
}

/** The rows of `count` that are not among some. */
function others(some: Int32Array, count: number): Int32Array {
  const isAmong = new Uint8Array(count);
  for (const row of some) isAmong[row] = 1;
  const rows: number[] = [];
  for (let row = 0; row < count; row++) if (isAmong[row] === 0) rows.push(row);
  return Int32Array.from(rows);
}

/** Writes records as a segment and makes it durable; `children` are the reserved columns and `columns`. */
export async function writeRows(
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
  const segment = await writeUnflushed(
    { columns, rows, data: new RecordBatch(schema, struct) },
    path,
  );
  await flushSegment(path);
  return segment;
}
