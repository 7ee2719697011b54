import { basename } from 'node:path';
import { makeData, RecordBatch, Struct, type Data } from 'apache-arrow';
import { AppError } from '../core/errors.js';
import type { Columns } from '../core/types.js';
import { assemble, freeData, freeParts } from '../parquet/assemble.js';
import type { DecodedLeaf } from '../parquet/read-column-chunk.js';
import { parquetSchema } from '../parquet/parquet-schema.js';
import { arrowSchema, parquetColumns } from './arrow-columns.js';
import { readFooter } from './footer.js';
import {
  appendSegmentParts,
  footerCounts,
  describeCountDifference,
  type FooterCounts,
} from './read-columns.js';
import { flushSegment, writeSegmentUnflushed, type SegmentInput } from './segment.js';
import { mergedIdRuns, mergedRowIds, rowIdColumn } from './row-ids.js';
import { deletedRows, deletionVector } from './deletion-vector.js';
import { liveRowCount, type Segment } from './store.js';

/** A segment to be merged, and the absolute path of its file. */
export interface MergeSource {
  readonly file: string;
  readonly segment: Segment;
}

/**
 * Writes the rows of several segments, in their order, as one segment, and makes it durable. Deleted rows are left out, in which case at
 * least one record must remain; or, if `dropsDeleted` is false, they stay as deleted rows of the merged segment. `datasetColumns` has
 * the columns of the dataset. The sources must match their checksums, and the counts in the footer of the result must equal the sums of
 * the sources' counts less those of the rows left out; otherwise the merge fails with `damaged`.
 */
export async function mergeSegments(
  sources: readonly MergeSource[],
  datasetColumns: Columns,
  file: string,
  dropsDeleted = true,
): Promise<Segment> {
  const segments = sources.map(({ segment }) => segment);
  const { isStored, ...rowIds } = mergedRowIds(segments, dropsDeleted);
  const columnsPresent = presentColumns(
    datasetColumns,
    segments.map((segment) => segment.columns),
  );
  const columns = isStored ? [rowIdColumn, ...columnsPresent] : columnsPresent;
  const schema = parquetSchema(parquetColumns(columns));
  const parts: DecodedLeaf[][] = schema.leaves.map(() => []);
  const counts: FooterCounts[] = [];
  for (const source of sources) {
    const footer = await readFooter(source.file);
    counts.push(footerCounts(footer));
    const { deletion } = source.segment;
    const droppedRows = deletion && dropsDeleted ? deletedRows(deletion) : new Int32Array(0);
    counts.push(await appendSegmentParts(source, footer, schema, parts, droppedRows));
  }
  const rows = sources.reduce((sum, { segment }) => sum + (dropsDeleted ? liveRowCount(segment) : segment.rows), 0); // prettier-ignore
  const data = assemble(schema, parts, arrowSchema(columns).fields);
  freeParts(parts);
  const segment = await writeSegmentUnflushed(segmentInputOf(rows, columns, data), file);
  data.forEach(freeData);
  const difference = describeCountDifference(counts, [footerCounts(await readFooter(file))]);
  if (difference !== undefined)
    throw new AppError('damaged', `merged segment ${basename(file)} has ${difference}`);
  await flushSegment(file);
  const idRuns = mergedIdRuns(segments, dropsDeleted);
  return { ...segment, ...rowIds, idRuns, ...(!dropsDeleted && mergedDeletion(sources)) };
}

/** Returns the deleted rows of several segments as rows of the segment that contains all their rows. */
function mergedDeletion(sources: readonly MergeSource[]): Pick<Segment, 'deletion'> {
  const rows: number[] = [];
  let rowsBefore = 0;
  for (const { segment } of sources) {
    if (segment.deletion)
      for (const row of deletedRows(segment.deletion)) rows.push(rowsBefore + row);
    rowsBefore += segment.rows;
  }
  return rows.length === 0 ? {} : { deletion: deletionVector(Int32Array.from(rows)) };
}

function segmentInputOf(rows: number, columns: Columns, data: readonly Data[]): SegmentInput {
  const arrow = arrowSchema(columns);
  const type = new Struct(arrow.fields);
  const struct = makeData({ type, length: rows, nullCount: 0, children: [...data] });
  return { columns, rows, data: new RecordBatch(arrow, struct) };
}

/** Returns the columns of a dataset, and the members of its objects, that at least one of the segments has. */
export function presentColumns(columns: Columns, columnsOfSegments: readonly Columns[]): Columns {
  return columns.flatMap((column) => {
    const storedColumns = columnsOfSegments.flatMap((segmentColumns) =>
      segmentColumns.filter((one) => one.physical === column.physical),
    );
    if (storedColumns.length === 0) return [];
    if (column.children === undefined) return [column];
    const children = storedColumns.map((one) => one.children ?? []);
    return [{ ...column, children: presentColumns(column.children, children) }];
  });
}
