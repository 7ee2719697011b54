import { merged } from '../../../engine/core/ascending.js';
import type { RowBatch } from '../../../engine/query/plan/executor.js';
import { deletedRows, deletionVector } from '../../../engine/store/deletion-vector.js';
import type { Segment, Snapshot } from '../../../engine/store/store.js';
import { bitmapRows } from '../../../engine/text/bitmap.js';
import type { Deletions } from '../import/find-deleted.js';

/** The deletion of the rows that a query finds in a version of a dataset. */
export async function rowsToDelete(
  snapshot: Snapshot,
  batches: AsyncIterable<RowBatch>,
): Promise<Deletions> {
  const found = new Map<number, Int32Array[]>();
  const add = (segment: number, rows: Int32Array): void => {
    const others = found.get(segment);
    if (others === undefined) found.set(segment, [rows]);
    else others.push(rows);
  };
  for await (const batch of batches) {
    if ('refs' in batch) {
      const bySegment = Map.groupBy(batch.refs, ([segment]) => segment);
      for (const [segment, refs] of bySegment)
        add(
          segment,
          Int32Array.from(refs, ([, row]) => row),
        );
    } else if (batch.rows === 'all') {
      const { rows } = snapshot.segments[batch.segment]!;
      add(
        batch.segment,
        Int32Array.from({ length: rows }, (_, row) => row),
      );
    } else
      add(batch.segment, batch.rows instanceof Int32Array ? batch.rows : bitmapRows(batch.rows));
  }
  let removed = 0;
  const update: Segment[] = [];
  for (const [number, segment] of snapshot.segments.entries()) {
    const parts = found.get(number);
    if (parts === undefined) continue;
    const own = ascending(parts);
    if (own.length === 0) continue;
    const earlier = segment.deletion ? deletedRows(segment.deletion) : new Int32Array(0);
    update.push({ ...segment, deletion: deletionVector(merged(earlier, own)) });
    removed += own.length;
  }
  return { base: snapshot.version, update, removed, notFound: 0 };
}

function ascending(parts: readonly Int32Array[]): Int32Array {
  const rows = new Int32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const part of parts) {
    rows.set(part, end);
    end += part.length;
  }
  return rows.sort();
}
