import type { Segment, Snapshot } from '../../../store/store.js';

/** The ids of the deleted rows, by segment object; an object never changes its set of deleted rows. */
const deletedIdsBySegment = new WeakMap<Segment, readonly string[]>();

/**
 * Reads and caches what identifies the deleted rows of a snapshot if row numbers cannot: `_id` and `_commit` of each row, separated by a
 * slash. `read` returns them for one segment, given by its number.
 */
export function cacheDeletedIds(
  { segments }: Snapshot,
  read: (segment: number) => readonly string[],
): void {
  for (const [number, segment] of segments.entries())
    if (segment.deletion && !deletedIdsBySegment.has(segment))
      deletedIdsBySegment.set(segment, read(number));
}

/** Returns the ids that `cacheDeletedIds` has read. */
export function deletedIds({ segments }: Pick<Snapshot, 'segments'>): readonly string[] {
  return segments.flatMap((segment) => {
    if (segment.deletion === undefined) return [];
    const ids = deletedIdsBySegment.get(segment);
    if (ids === undefined) throw new Error(`the deleted rows of ${segment.path} are not known`);
    return ids;
  });
}
