import type { Column } from '../core/types.js';
import type { DecodedLeaf } from '../parquet/read-column-chunk.js';
import { leafKey } from './segment-stats.js';
import { liveRowCount, type IdRun, type Segment } from './store.js';

/*
 * Every row has a row id, as in Delta's row tracking: a number that determines the place of its record in the order of the dataset. A
 * record that is replaced keeps its row id. The row ids of a segment begin at its `baseRowId` and are consecutive, or the segment has a
 * column of row ids.
 */

/**
 * The column of row ids, for segments in which they are not consecutive. It is the first after the reserved ones, so that it always has
 * statistics.
 */
export const rowIdColumn: Column = {
  name: '_strandlake_row_id',
  physical: '_strandlake_row_id',
  type: 'long',
  isList: false,
};

/** Returns true if a segment has a column of row ids. */
export function storesRowIds({ columns }: Pick<Segment, 'columns'>): boolean {
  return columns[0]?.physical === rowIdColumn.physical;
}

/** A segment with its smallest and its greatest row id. */
export interface RowIdRange {
  readonly segment: Segment;
  readonly first: number;
  readonly last: number;
}

/** Yields the range of row ids of each segment; a segment without row ids continues the numbering of the segments before it. */
export function* rowIdRanges(segments: Iterable<Segment>): Generator<RowIdRange> {
  let nextId = 0;
  for (const segment of segments) {
    const range = rowIdRangeOf(segment, nextId);
    nextId = Math.max(nextId, range.last + 1);
    yield range;
  }
}

function rowIdRangeOf(segment: Segment, next: number): RowIdRange {
  if (!storesRowIds(segment)) {
    const first = segment.baseRowId ?? next;
    return { segment, first, last: first + segment.rows - 1 };
  }
  const { min, max } = segment.stats[leafKey([rowIdColumn.physical])] ?? {};
  if (typeof min === 'number' && typeof max === 'number') return { segment, first: min, last: max };
  throw new Error(`segment ${segment.path} has no statistics of its row ids`);
}

/** Returns the row id that follows the row ids of all these segments. */
export function nextRowId(segments: Iterable<Segment>): number {
  let nextId = 0;
  for (const { last } of rowIdRanges(segments)) nextId = Math.max(nextId, last + 1);
  return nextId;
}

/** Returns whether the order of the records may differ from the order of the segments and their rows (`Snapshot.isInterleaved`). */
export function areRowIdsInterleaved(segments: readonly Segment[]): boolean {
  let lastId = -1;
  for (const { segment, first, last } of rowIdRanges(segments)) {
    if (liveRowCount(segment) === 0) continue;
    if (first <= lastId || !areRowIdsAscending(segment)) return true;
    lastId = last;
  }
  return false;
}

/** Returns whether the row ids of a segment are known to ascend. */
export function areRowIdsAscending(segment: Segment): boolean {
  return !storesRowIds(segment) || segment.isAscending === true;
}

/** Returns how the segment into which these segments are joined gets its row ids: from `baseRowId` on, or as a column (`isStored`). */
export function mergedRowIds(
  segments: readonly Segment[],
  dropsDeleted: boolean,
): { readonly isStored: boolean } & Pick<Segment, 'baseRowId' | 'isAscending'> {
  const ranges = [...rowIdRanges(segments)];
  const isConsecutive = ranges.every(
    ({ segment, first }, i) =>
      !storesRowIds(segment) &&
      !(dropsDeleted && segment.deletion) &&
      (i === 0 || first === ranges[i - 1]!.last + 1),
  );
  if (isConsecutive) return { isStored: false, baseRowId: segments[0]!.baseRowId };
  const isAscendingOverall = ranges.every(
    ({ segment, first }, i) =>
      areRowIdsAscending(segment) && (i === 0 || first > ranges[i - 1]!.last),
  );
  return { isStored: true, isAscending: isAscendingOverall };
}

/** Maximum number of runs of `_id`s that the log stores for a segment; each takes about 25 bytes. */
export const maxIdRuns = 64;

/** Returns the runs of `_id`s of several segments that are joined, in order, to one segment; undefined if they are unknown or too many. */
export function mergedIdRuns(
  segments: readonly Segment[],
  dropsDeleted: boolean,
): readonly IdRun[] | undefined {
  if (segments.some(({ idRuns, deletion }) => !idRuns || (dropsDeleted && deletion)))
    return undefined;
  const runs = segments.flatMap(({ idRuns }) => idRuns!);
  return runs.length > maxIdRuns ? undefined : runs;
}

/** Returns a column of consecutive row ids, beginning with `first`, for a segment that does not store them. */
export function consecutiveRowIds(first: number, count: number): DecodedLeaf {
  const int32s = new Int32Array(2 * count);
  for (let row = 0; row < count; row++) {
    const id = first + row;
    int32s[2 * row] = id | 0;
    int32s[2 * row + 1] = Math.floor(id / 2 ** 32);
  }
  const definitionLevels = new Uint16Array(count).fill(1);
  return {
    slots: count,
    definition: definitionLevels,
    repetition: undefined,
    values: [{ kind: 'int64s', int32s }],
  };
}
