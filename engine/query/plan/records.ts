import { materialise, openSegments } from '../results/materialise.js';
import type { Snapshot } from '../../store/store.js';
import type { Projected } from '../results/projection.js';
import type { QueryEngine } from './engine.js';
import type { RowRef } from './executor.js';
import { isUnsupported } from '../unsupported.js';
import { namingDataset, type RunOptions } from './limits.js';

/** The JSON texts of records, in the order of `rows`. */
export async function readRecords(
  engine: QueryEngine,
  snapshot: Snapshot,
  rows: readonly RowRef[],
  projection: readonly Projected[],
  options: RunOptions,
): Promise<readonly string[]> {
  if (rows.length === 0) return [];
  const texts = await engine.memory?.records(snapshot, rows, projection, options);
  if (texts !== undefined && !isUnsupported(texts)) return texts;
  return namingDataset(snapshot, async () => {
    const source = openSegments(snapshot);
    try {
      return materialise(source, rows, projection, 'json');
    } finally {
      source.close();
    }
  });
}
