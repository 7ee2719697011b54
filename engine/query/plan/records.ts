import { RecordReader } from '../memory/record-reader.js';
import { SegmentFile } from '../memory/segment-file.js';
import type { Snapshot } from '../../store/store.js';
import type { Projected } from '../results/projection.js';
import type { QueryEngine } from './engine.js';
import { isUnsupported, type RowRef } from './executor.js';
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
  return namingDataset(snapshot, async () => inline(snapshot, rows, projection));
}

function inline(
  snapshot: Snapshot,
  rows: readonly RowRef[],
  projection: readonly Projected[],
): readonly string[] {
  const readers = new Map<number, RecordReader>();
  return rows.map(([segment, row]) => {
    let reader = readers.get(segment);
    if (reader === undefined) {
      const file = new SegmentFile(snapshot.files[segment + 1]!);
      const cache = new Map<string, unknown>();
      reader = new RecordReader(file, {
        get: <T>(key: string) => cache.get(key) as T | undefined,
        set: (key, value) => void cache.set(key, value),
      });
      readers.set(segment, reader);
    }
    return reader.texts([row], projection)[0]!;
  });
}
