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
  { columns: planned, titles, format: name, file }: PageTableTask,
): Promise<Uint8Array> {
  const { made, columns } = unifiedBatch(records, planned);
  const { batch } = made;
  const filledNames = new Set(batch.columns.map((column) => column.name));
  const projection = annotatedProjection(
    planned,
    columns,
    fieldNamesOfBatches([made]),
    filledNames,
  );
  const { format, head, tail } = pageFormats[name];
  const first = head(projection, titles);
  if (records.length === 0) return Buffer.concat([first, tail]);
  const segment = await writeSegmentUnflushed(batch, file);
  made.release();
  const source = openSegments([{ path: file, blockChecksums: segment.blockChecksums }]);
  try {
    const rows = records.map((_, row): RowRef => [0, row]);
    return Buffer.concat([first, pageRecords(source, rows, { projection, format }).bytes, tail]);
  } finally {
    source.close();
  }
}

/** Converts records to columns. If values of a field have different types, a second pass uses the type that holds all of them. */
function unifiedBatch(
  records: readonly PyDict[],
  { stored, known, hints }: AnnotatedColumns,
): { readonly made: AnnotatedBatch; readonly columns: Columns } {
  const first = annotatedBatch(records, known, hints);
  const { columns } = unifyColumns(stored, [first.columns]);
  if (!needsRewrite(first.columns, columns)) return { made: first, columns };
  first.release();
  return { made: annotatedBatch(records, columns, []), columns };
}
