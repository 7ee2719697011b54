import type { JsonObject } from '../../../engine/core/types.js';
import type { RunContext } from '../job.js';

/** The dataset that a snapshot or a restore works on. */
export interface ArchiveParams {
  readonly datasetId: number;
  /** The last version of its log that the catalogue knows. */
  readonly version: number;
}

/** Reports progress in bytes. */
export function byteProgress(
  context: Pick<RunContext, 'progress'>,
): (bytes: number, bytesTotal: number) => void {
  return (bytes, bytesTotal) =>
    context.progress({ records: 0, recordsTotal: null, bytes, bytesTotal, errors: 0 });
}

/** The final progress, because the last one reported may be outdated. */
export function finalProgress(progress: JsonObject): JsonObject {
  return { ...progress, processed_bytes: progress['total_bytes'] ?? 0, percent: 100 };
}
