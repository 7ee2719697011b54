import { setImmediate } from 'node:timers/promises';
import { segmentFiles, type Snapshot } from '../../store/store.js';
import {
  materialise,
  openSegments,
  type Materialised,
  type SegmentSource,
} from '../results/materialise.js';
import type { Projected } from '../results/projection.js';
import { isUnsupported } from '../unsupported.js';
import type { QueryEngine } from './query-engine.js';
import type { RowRef } from './executor.js';
import { clientLeft, namingDataset, type RunOptions } from './limits.js';

/** The JSON texts of records, in the order of `rows`. */
export async function readRecords(
  engine: QueryEngine,
  snapshot: Snapshot,
  rows: readonly RowRef[],
  projection: readonly Projected[],
  options: RunOptions,
): Promise<readonly string[]> {
  const texts = await engine.memory?.records(snapshot, rows, projection, options);
  if (texts !== undefined && !isUnsupported(texts)) return texts;
  return readInThisThread(snapshot, rows, projection, 'json', options);
}

/** The number of records that are read before control returns to the event loop. */
const rowsAtOnce = 500;

/** The texts or cells of records, in the order of `rows`, read in the calling thread. */
export async function readInThisThread<F extends 'json' | 'cells'>(
  snapshot: Snapshot,
  rows: readonly RowRef[],
  projection: readonly Projected[],
  format: F,
  options: RunOptions,
): Promise<Materialised[F]> {
  const all: unknown[] = [];
  await inParts(snapshot, rows, options, (source, part) => {
    for (const record of materialise(source, part, projection, format)) all.push(record);
  });
  return all as unknown as Materialised[F];
}

/** One Arrow batch for every part of the rows, in order; one at least. */
export async function readBatches(
  snapshot: Snapshot,
  rows: readonly RowRef[],
  projection: readonly Projected[],
  options: RunOptions,
): Promise<readonly Materialised['arrow'][]> {
  const batches: Materialised['arrow'][] = [];
  await inParts(snapshot, rows, options, (source, part) => {
    batches.push(materialise(source, part, projection, 'arrow'));
  });
  return batches;
}

function inParts(
  snapshot: Snapshot,
  rows: readonly RowRef[],
  { signal }: RunOptions,
  work: (source: SegmentSource, part: readonly RowRef[]) => void,
): Promise<void> {
  return namingDataset(snapshot, async () => {
    const source = openSegments(segmentFiles(snapshot));
    try {
      let from = 0;
      do {
        if (signal?.aborted) throw clientLeft();
        work(source, rows.slice(from, from + rowsAtOnce));
        from += rowsAtOnce;
        if (from < rows.length) await setImmediate();
      } while (from < rows.length);
    } finally {
      source.close();
    }
  });
}
