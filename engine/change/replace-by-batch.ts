import type { Data } from 'apache-arrow';
import type { Columns } from '../core/types.js';
import type { Batch } from '../ingest/batch.js';
import { givenId } from '../ingest/physical-names.js';
import { commitsOf, releaseColumn } from '../ingest/record-ids.js';
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
  { columns, data, rows: count }: Batch,
  commitId: number,
  { segments, columns: stored, keepsOthers }: ReplaceableRows,
  path: string,
): Promise<BatchReplacement | undefined> {
  const values = data.data.children;
  const givenIdAt = columns.findIndex(({ physical }) => physical === givenId.physical);
  if (givenIdAt < 0 || (keepsOthers && !haveAll(stored, columns, values))) return undefined;
  const placed = placeAll(values[givenIdAt]!, segments);
  if (placed === undefined) return undefined;
  const isOther = (_: unknown, i: number): boolean => i !== givenIdAt;
  const commits = commitsOf(count, commitId);
  try {
    const children = [
      pickRowsOf(values[givenIdAt]!, placed.given),
      commits.data,
      rowIdData(placed.rowIds),
      ...values.filter(isOther).map((column) => pickRowsOf(column, placed.given)),
    ];
    const segment = await writeUnflushedRows([rowIdColumn, ...columns.filter(isOther)], children, path); // prettier-ignore
    const replacedRows = placed.segments.flatMap((one, number) =>
      one.rows.length === 0 ? [] : [{ segment: number, ...one }],
    );
    return { segment: { ...segment, isAscending: true }, replaced: replacedRows };
  } finally {
    releaseColumn(commits);
  }
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
