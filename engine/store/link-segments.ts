import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { crashpoint } from '../core/crashpoint.js';
import type { DataFolder } from '../core/data-folder.js';
import { linkNewFile, makeFolder, refuseLinkedFolder, syncFolder } from '../core/files.js';
import type { Segment } from './store.js';

/** A segment in a scratch folder, and the name that it gets in the folder of its dataset. */
export interface SegmentMove {
  /** The segment with its new path. */
  readonly segment: Segment;
  readonly from: string;
  readonly to: string;
}

/** The target of each segment: a name in the dataset's folder that no other commit can choose. */
export function movesOf(
  folder: DataFolder,
  datasetId: number,
  segments: readonly Segment[],
  scratchFolder: string,
): readonly SegmentMove[] {
  const batch = `${Date.now().toString(36)}-${randomBytes(6).toString('hex')}`;
  return segments.map((segment, i): SegmentMove => {
    const path = `${batch}-${String(i).padStart(5, '0')}.parquet`;
    return {
      segment: { ...segment, path },
      from: folder.checked(join(scratchFolder, segment.path)),
      to: folder.datasetFile(datasetId, path),
    };
  });
}

/** Links segments into their dataset's folder. The names in the scratch folder stay until the entry is written: they prove that the commit did not complete. */
export async function linkSegments(
  folder: DataFolder,
  datasetId: number,
  moves: readonly SegmentMove[],
): Promise<void> {
  await makeFolder(folder.log(datasetId));
  const [first] = moves;
  if (first !== undefined) await refuseLinkedFolder(first.from); // all are in one folder, and `makeFolder` has checked that of the dataset
  for (const move of moves) await linkNewFile(move.from, move.to);
  await syncFolder(folder.dataset(datasetId));
  crashpoint('segment.renamed');
}
