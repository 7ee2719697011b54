import type { Columns } from '../../engine/core/types.js';
import type { PyDict } from '../../engine/expression/values/python-values.js';
import { needsRewrite, unifyColumns } from '../../engine/ingest/unify-columns.js';
import type { RowRef } from '../../engine/store/store.js';
import { pageFormats } from '../../engine/query/results/encoded-page.js';
import { pageRecords } from '../../engine/query/results/page-records.js';
import { openSegments } from '../../engine/query/results/row-blocks.js';
import { writeSegmentUnflushed } from '../../engine/store/segment.js';
import {
  annotatedBatch,
  annotatedProjection,
  fieldNamesOfBatches,
  type AnnotatedBatch,
  type AnnotatedColumns,
} from './columns/annotated-batch.js';
import type { PageTableTask } from './host-call-protocol.js';

/** Encodes annotated records as CSV or Arrow, with the columns that an export of them has. */
export async function encodeRecordTable(
  records: readonly PyDict[],
  { columns: plannedColumns, titles, format: name, file }: PageTableTask,
): Promise<Uint8Array> {
  const { annotated, columns } = unifiedBatch(records, plannedColumns);
  const { batch } = annotated;
  const filledNames = new Set(batch.columns.map((column) => column.name));
  const projection = annotatedProjection(
    plannedColumns,
    columns,
    fieldNamesOfBatches([annotated]),
    filledNames,
  );
  const { format, head, tail } = pageFormats[name];
  const headBytes = head(projection, titles);
  if (records.length === 0) {
    annotated.release();
    return Buffer.concat([headBytes, tail]);
  }
  const segment = await writeSegmentUnflushed(batch, file).finally(() => annotated.release());
  const source = openSegments([{ path: file, blockChecksums: segment.blockChecksums }]);
  try {
    const rowRefs = records.map((_, row): RowRef => [0, row]);
    return Buffer.concat([
      headBytes,
      pageRecords(source, rowRefs, { projection, format }).bytes,
      tail,
    ]);
  } finally {
    source.close();
  }
}

/** Converts records to columns. If these differ from the unified columns, a second pass converts the records to the unified columns. */
function unifiedBatch(
  records: readonly PyDict[],
  { stored, known, hints }: AnnotatedColumns,
): { readonly annotated: AnnotatedBatch; readonly columns: Columns } {
  const firstPass = annotatedBatch(records, known, hints);
  const { columns } = unifyColumns(stored, [firstPass.columns]);
  if (!needsRewrite(firstPass.columns, columns)) return { annotated: firstPass, columns };
  firstPass.release();
  return { annotated: annotatedBatch(records, columns, []), columns };
}
