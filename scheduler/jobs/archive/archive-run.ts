import type { JsonObject } from '../../../engine/core/types.js';
import type { RunContext } from '../job.js';

/** The dataset that a snapshot or a restore works on. */
export interface ArchiveParams {
  readonly datasetId: number;
  /** The last version of the dataset's log that the catalogue knows. */
  readonly version: number;
}

/** Returns a function that reports the progress of an archive in bytes. */
export function byteProgressReporter(
  context: Pick<RunContext, 'progress'>,
): (bytes: number, bytesTotal: number) => void {
  return (bytes, bytesTotal) =>
    context.progress({ records: 0, recordsTotal: null, bytes, bytesTotal, errors: 0 });
}

/** Returns the final progress: all bytes are done, even if the last report said less. */
export function completeByteProgress(progress: JsonObject): JsonObject {
  return { ...progress, processed_bytes: progress['total_bytes'] ?? 0, percent: 100 };
}
