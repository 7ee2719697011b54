import type { Snapshot } from '../../store/store.js';
import type { RowRef } from '../plan/executor.js';
import { materialise, openSegments } from './materialise.js';
import { segmentTest } from '../predicate/prune.js';
import { node } from '../predicate/predicate.js';
import { reservedColumns } from '../../store/arrow.js';

/**
 * The rows of records with these ids, in the order of the ids; an id that no record has is left out. Reads the ids of every segment
 * whose statistics allow one of them.
 */
export function locate(snapshot: Snapshot, ids: readonly string[]): readonly RowRef[] {
  const field = { name: '_id', path: ['_id'], type: 'string' } as const;
  const mayHold = segmentTest(node({ kind: 'in', field, values: [...ids], ignoreCase: false }));
  const missing = new Set(ids);
  const found = new Map<string, RowRef>();
  const projection = [{ column: reservedColumns[0]!, isStored: true }];
  const source = openSegments(snapshot);
  try {
    for (const [segment, { rows }] of snapshot.segments.entries()) {
      if (missing.size === 0) break;
      if (!mayHold(snapshot.segments[segment]!)) continue;
      const all = Array.from({ length: rows }, (_, row): RowRef => [segment, row]);
      for (const [row, [id]] of materialise(source, all, projection, 'cells').entries())
        if (missing.delete(id!)) found.set(id!, [segment, row]);
    }
  } finally {
    source.close();
  }
  return ids.flatMap((id) => {
    const row = found.get(id);
    return row ? [row] : [];
  });
}
