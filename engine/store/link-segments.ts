import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { crashpoint } from '../core/crashpoint.js';
import type { DataFolder } from '../core/data-folder.js';
import { linkNewFile, makeFolder, refuseLinkedFolder, syncFolder } from '../core/files.js';
import type { Segment } from './store.js';

/** A segment in a scratch folder, and the name that it will get in the folder of its dataset. */
export interface SegmentMove {
  /** The segment with its new path. */
  readonly segment: Segment;
  readonly from: string;
  readonly to: string;
}

/** Returns the target of each segment: a name in the dataset's folder that no other commit can choose. */
export function segmentMoves(
  folder: DataFolder,
  datasetId: number,
  segments: readonly Segment[],
  scratchFolder: string,
): readonly SegmentMove[] {
  const namePrefix = `${Date.now().toString(36)}-${randomBytes(6).toString('hex')}`;
  return segments.map((segment, i): SegmentMove => {
    const path = `${namePrefix}-${String(i).padStart(5, '0')}.parquet`;
    return {
      segment: { ...segment, path },
      from: folder.requireInside(join(scratchFolder, segment.path)),
      to: folder.datasetFile(datasetId, path),
    };
  });
}

/**
 * Links segments into their dataset's folder. Their names in the scratch folder stay until the log entry is written, because they prove
 * that the commit did not complete.
 */
export async function linkSegments(
  folder: DataFolder,
  datasetId: number,
  moves: readonly SegmentMove[],
): Promise<void> {
  await makeFolder(folder.deltaLog(datasetId));
  const [first] = moves;
  if (first !== undefined) await refuseLinkedFolder(first.from); // all are in one folder; `makeFolder` has checked the dataset's folder
  for (const move of moves) await linkNewFile(move.from, move.to);
  await syncFolder(folder.dataset(datasetId));
  crashpoint('segment.renamed');
}
