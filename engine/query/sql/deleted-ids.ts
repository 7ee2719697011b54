import type { Segment, Snapshot } from '../../store/store.js';

/** The deleted ids by segment; each object stands for one set of deleted rows. */
const knownIds = new WeakMap<Segment, readonly string[]>();

/**
 * Makes known what tells the deleted rows of a snapshot where their numbers cannot: `_id` and `_commit` of each, with a slash between.
 * `read` returns them for one segment, given by its number.
 */
export function learnDeletedIds(
  { segments }: Snapshot,
  read: (segment: number) => readonly string[],
): void {
  for (const [number, segment] of segments.entries())
    if (segment.deletion && !knownIds.has(segment)) knownIds.set(segment, read(number));
}

/** The ids that `learnDeletedIds` has read. */
export function deletedIds({ segments }: Pick<Snapshot, 'segments'>): readonly string[] {
  return segments.flatMap((segment) => {
    if (segment.deletion === undefined) return [];
    const ids = knownIds.get(segment);
    if (ids === undefined) throw new Error(`the deleted rows of ${segment.path} are not known`);
    return ids;
  });
}
