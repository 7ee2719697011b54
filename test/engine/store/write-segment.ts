import {
  flushSegment,
  writeSegmentUnflushed,
  type SegmentInput,
} from '../../../engine/store/segment.js';
import type { Segment } from '../../../engine/store/store.js';

/** Writes a segment and makes it durable. */
export async function writeSegment(input: SegmentInput, path: string): Promise<Segment> {
  const segment = await writeSegmentUnflushed(input, path);
  await flushSegment(path);
  return segment;
}
