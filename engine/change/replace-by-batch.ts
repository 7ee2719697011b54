import type { Data } from 'apache-arrow';
import type { Columns } from '../core/types.js';
import type { Batch } from '../ingest/batch.js';
import { givenIdColumn, isOfGivenRecords } from '../ingest/physical-names.js';
import { commitColumn, releaseColumn } from '../ingest/record-ids.js';
import { rowIdColumn } from '../store/row-ids.js';
import type { Segment } from '../store/store.js';
import { locateRecordsById, type SegmentMatches, type KeySegment } from './find-rows.js';
import { takeRows } from './interleave.js';
import { rowIdData, writeUnflushedRows } from './replace-rows.js';

/** The stored records that the records of a batch may replace. Plain data, so that it can be sent to a thread. */
export interface ReplaceableRows {
  readonly segments: readonly KeySegment[];
  /** The columns of the dataset. */
  readonly columns: Columns;
  /** Whether a replaced record keeps the values of fields that the new record lacks, as in `ReplaceRowsInput`. */
  readonly keepsOthers: boolean;
}

/** The result of a replacement: the segment of the new records, and the rows that they replace, for each segment that has some. */
interface BatchReplacement {
  readonly segment: Segment;
  readonly replaced: readonly ReplacedRows[];
}

/** Rows of a segment that are replaced, ascending, and for each the row of the batch that replaces it. */
export interface ReplacedRows extends Pick<SegmentMatches, 'rows' | 'given'> {
  /** The index of the segment in `ReplaceableRows.segments`. */
  readonly segment: number;
}

/**
 * Writes the records of a batch as a segment, not flushed, that replaces rows of other segments. Works only if the log gives the row of
 * each `_id` (`locateRecordsById`), and if no old value is needed; otherwise writes nothing and returns undefined.
 */
export async function replaceByBatch(
  { columns, data, rows: count }: Batch,
  commitId: number,
  { segments, columns: datasetColumns, keepsOthers }: ReplaceableRows,
  path: string,
): Promise<BatchReplacement | undefined> {
  const values = data.data.children;
  const givenIdAt = columns.findIndex(({ physical }) => physical === givenIdColumn.physical);
  if (givenIdAt < 0 || (keepsOthers && !hasEveryValue(datasetColumns, columns, values)))
    return undefined;
  const locatedRecords = locateRecordsById(values[givenIdAt]!, segments);
  if (locatedRecords === undefined) return undefined;
  const isStoredColumn = (_: unknown, i: number): boolean => !isOfGivenRecords(columns[i]!);
  const commits = commitColumn(count, commitId);
  try {
    const children = [
      takeRows(values[givenIdAt]!, locatedRecords.given),
      commits.data,
      rowIdData(locatedRecords.rowIds),
      ...values.filter(isStoredColumn).map((column) => takeRows(column, locatedRecords.given)),
    ];
    const segment = await writeUnflushedRows([rowIdColumn, ...columns.filter(isStoredColumn)], children, path); // prettier-ignore
    const replacedRows = locatedRecords.segments.flatMap((one, number) =>
      one.rows.length === 0 ? [] : [{ segment: number, ...one }],
    );
    return { segment: { ...segment, isAscending: true }, replaced: replacedRows };
  } finally {
    releaseColumn(commits);
  }
}

/** Whether the records of a batch certainly replace all values of the columns `wantedColumns`, so that no old value is needed. */
function hasEveryValue(wantedColumns: Columns, columns: Columns, data: readonly Data[]): boolean {
  return wantedColumns.every(({ physical, children }) => {
    const i = columns.findIndex((one) => one.physical === physical);
    const ownColumn = columns[i];
    if (ownColumn === undefined || data[i]!.nullCount > 0) return false;
    if (ownColumn.type === 'json' && !ownColumn.isList) return false; // objects stored as JSON are merged with the old values
    if (children === undefined || ownColumn.isList) return true;
    return hasEveryValue(children, ownColumn.children ?? [], data[i]!.children);
  });
}
