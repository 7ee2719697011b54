import { reservedColumns } from '../../store/arrow-columns.js';
import { segmentFiles, type Snapshot, type RowRef } from '../../store/store.js';
import { materialise } from './materialise.js';
import { openSegments } from './row-blocks.js';

/** Returns the `_id` and `_commit` of rows, including deleted rows. */
export function reservedCells(
  snapshot: Snapshot,
  rows: readonly RowRef[],
): readonly (readonly (string | null)[])[] {
  const projection = reservedColumns.map((column) => ({ column, isStored: true }));
  const source = openSegments(segmentFiles(snapshot));
  try {
    return materialise(source, rows, projection, 'cells');
  } finally {
    source.close();
  }
}
