import type { JsonObject } from '../../engine/core/types.js';
import type { Progress } from '../jobs/job.js';

/** What clients find under `metadata.progress` (contract, section 10.1), in their spelling. */
export function progressMetadata(progress: Progress, elapsedMs: number): JsonObject {
  const { records, recordsTotal, bytes, bytesTotal, errors, fetchedBytes } = progress;
  return {
    processed_records: records,
    records_per_second: elapsedMs > 0 ? Math.round((records * 10_000) / elapsedMs) / 10 : 0,
    total_records: recordsTotal,
    processed_bytes: bytes,
    total_bytes: bytesTotal,
    ...(fetchedBytes !== undefined && { fetched_bytes: fetchedBytes }),
    percent: percent(progress),
    errors: { records: errors, fields: 0, examples: [] },
  };
}

/** Of the bytes where there are any, else of the records; one decimal. */
function percent({ records, recordsTotal, bytes, bytesTotal }: Progress): number | null {
  const share =
    bytesTotal > 0 ? bytes / bytesTotal : recordsTotal === null ? null : records / recordsTotal;
  if (share === null) return null;
  return Number.isNaN(share) ? 100 : Math.min(100, Math.round(share * 1_000) / 10);
}
