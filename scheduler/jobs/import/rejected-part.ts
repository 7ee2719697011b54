import { writeStream } from '../../../engine/core/file-writer.js';
import type { RejectedLines } from '../../../engine/ingest/rejected-lines.js';

/** Rejected records of a chunk in a file of the scratch folder: lines of JSON, with line numbers within the chunk. */
export interface RejectedPart {
  readonly file: string;
  readonly bytes: number;
  readonly md5: string;
  readonly records: number;
}

/** Writes the rejected records of a chunk beside its segment; returns null if there are none, or if not even one fits the budget. */
export async function writeRejectedPart(
  rejected: RejectedLines,
  segment: string,
): Promise<RejectedPart | null> {
  const { blocks, records } = rejected.result();
  if (records === 0) return null;
  const file = `${segment}.rejected`;
  return { file, records, ...(await writeStream(file, blocks)) };
}
