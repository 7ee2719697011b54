import type { Data } from 'apache-arrow';
import { ascendingOrder } from '../core/ascending.js';
import { concatenated } from '../core/buffers.js';
import type { Columns } from '../core/types.js';
import { givenId } from '../ingest/physical-names.js';
import type { IdentifiedBatch } from '../ingest/record-ids.js';
import { rowIdColumn } from '../store/row-ids.js';
import type { Segment } from '../store/store.js';
import { placeAll, type FoundInSegment, type SearchedFile } from './find-rows.js';
import { pickRowsOf } from './interleave.js';
import { rowIdData, writeUnflushedRows } from './replace-rows.js';

/** The stored records that the records of a batch may replace: plain data. */
export interface ReplaceableRows {
  readonly segments: readonly SearchedFile[];
  /** The columns of the dataset. */
  readonly columns: Columns;
  /** Whether other fields keep their values, as in `ReplaceOrder`. */
  readonly keepsOthers: boolean;
}

/** The result of a replacement: the segment of the new records, and the rows that they replace in each segment. */
export interface BatchReplacement {
  readonly segment: Segment;
  readonly replaced: readonly ReplacedRows[];
}

/** Rows of a segment that are replaced, ascending, and the rows of the batch that replace them. */
export interface ReplacedRows extends Pick<FoundInSegment, 'rows' | 'given'> {
  readonly segment: number;
}

/**
 * Writes the records of a batch as a segment, which is not flushed, that replaces rows of others, if each replaces one that is found by its `_id` without
 * reading a segment, and if it needs none of the values of that. Otherwise nothing is written.
 */
export async function replaceByBatch(
  { columns, data }: Pick<IdentifiedBatch, 'columns' | 'data'>,
  { segments, columns: stored, keepsOthers }: ReplaceableRows,
  path: string,
): Promise<BatchReplacement | undefined> {
  const [, commits, ...values] = data.data.children as [Data, Data, ...Data[]];
  const givenIdAt = columns.findIndex(({ physical }) => physical === givenId.physical);
  if (givenIdAt < 0 || (keepsOthers && !haveAll(stored, columns, values))) return undefined;
  const found = placeAll(values[givenIdAt]!, segments);
  if (found === undefined) return undefined;
  const rowIds = concatenated(Float64Array, found.map((one) => one.rowIds)); // prettier-ignore
  const rows = concatenated(Int32Array, found.map((one) => one.given)); // prettier-ignore
  const order = ascendingOrder(rowIds);
  const ids = order === undefined ? rowIds : new Float64Array(rowIds.length);
  if (order !== undefined) for (const [i, at] of order.entries()) ids[i] = rowIds[at]!;
  const from = order?.map((at) => rows[at]!) ?? rows;
  const isOther = (_: unknown, i: number): boolean => i !== givenIdAt;
  const children = [
    pickRowsOf(values[givenIdAt]!, from),
    pickRowsOf(commits, from),
    rowIdData(ids),
    ...values.filter(isOther).map((column) => pickRowsOf(column, from)),
  ];
  const segment = await writeUnflushedRows([rowIdColumn, ...columns.filter(isOther)], children, path); // prettier-ignore
  const replacedRows = found.flatMap((one, number) =>
    one.rows.length === 0 ? [] : [{ segment: number, rows: one.rows, given: one.given }],
  );
  return { segment: { ...segment, isAscending: true }, replaced: replacedRows };
}

/** Whether each record has a value for each of these columns. */
function haveAll(wanted: Columns, columns: Columns, data: readonly Data[]): boolean {
  return wanted.every(({ physical, children }) => {
    const i = columns.findIndex((one) => one.physical === physical);
    const ownColumn = columns[i];
    if (ownColumn === undefined || data[i]!.nullCount > 0) return false;
    if (ownColumn.type === 'json' && !ownColumn.isList) return false; // objects are merged
    if (children === undefined || ownColumn.isList) return true;
    return haveAll(children, ownColumn.children ?? [], data[i]!.children);
  });
}
