import { flushSegment, writeUnflushed, type SegmentInput } from '../../../engine/store/segment.js';
import type { Segment } from '../../../engine/store/store.js';

/** Writes a segment and makes it durable. */
export async function writeSegment(input: SegmentInput, path: string): Promise<Segment> {
  const segment = await writeUnflushed(input, path);
  await flushSegment(path);
  return segment;
}
