import { areRowIdsAscending, rowIdRanges, type RowIdRange } from './row-ids.js';
import { liveRowCount, type Segment } from './store.js';

/*
 * Chooses the segments whose rows a merge sorts by row id (docs/decisions/0027-sorting-merges.md). These are segments over which the
 * records of a page are scattered, because many records were replaced, and segments that queries read in vain, because many of their rows
 * are deleted.
 */

/**
 * Segments are sorted if the number of their rows that are deleted or out of order is at least this `share` of the number of their records,
 * and if one of the minimum numbers, `leastRows` or `leastSegments`, is reached.
 */
interface SortRule {
  readonly share: number;
  /**
   * Minimum numbers of deleted or unordered rows, and of segments, of which one must be reached.
   */
  readonly leastRows: number;
  readonly leastSegments: number;
}
const activeDatasetRule: SortRule = { share: 0.5, leastRows: 20_000, leastSegments: 16 };
const idleDatasetRule: SortRule = { share: 0.2, leastRows: 1, leastSegments: 1 };
/** Maximum number of segments, counted from the first to the last with records, that are sorted together unless their row ids overlap. */
const maxSegmentsPerSort = 64;

/** Segments that must be sorted together: those from index `first` to `last`. */
interface SortUnit {
  readonly first: number;
  readonly last: number;
}

/**
 * Returns the segments to sort next; undefined if there are none. Segments that lie between them and are not included have no records.
 * Small segments with only deleted rows are included if they lie between or after segments that are due (`isSortDue`), so that they do not
 * accumulate.
 */
export function planSort(
  segments: readonly Segment[],
  isQuiet: boolean,
  isSmall: (segment: Segment) => boolean,
): readonly Segment[] | undefined {
  const ranges = [...rowIdRanges(segments)];
  const rule = isQuiet ? idleDatasetRule : activeDatasetRule;
  let chosenUnit: SortUnit | undefined;
  for (const unit of sortUnitsOf(ranges)) {
    const isDue = isSortDue(ranges.slice(unit.first, unit.last + 1), rule);
    if (!isDue && chosenUnit !== undefined) break;
    if (!isDue) continue;
    if (chosenUnit !== undefined && unit.last - chosenUnit.first >= maxSegmentsPerSort) break;
    chosenUnit = { first: chosenUnit?.first ?? unit.first, last: unit.last };
  }
  if (chosenUnit === undefined) return isQuiet ? restoredSegments(segments) : undefined;
  let end = chosenUnit.last + 1;
  while (end < segments.length && liveRowCount(segments[end]!) === 0) end++;
  return segments
    .slice(chosenUnit.first, end)
    .filter((one) => liveRowCount(one) > 0 || isSmall(one));
}

/**
 * Returns the first neighbours that have records, but at least as many deleted rows, as after a rollback that has restored a few rows. They
 * are sorted by themselves, so that queries no longer read the other rows: their records are few, and still out of order afterwards.
 */
function restoredSegments(segments: readonly Segment[]): readonly Segment[] | undefined {
  const isRestored = (one: Segment): boolean => 2 * liveRowCount(one) <= one.rows;
  const withRecords = segments.filter((one) => liveRowCount(one) > 0);
  const first = withRecords.findIndex(isRestored);
  if (first < 0) return undefined;
  const count = withRecords.slice(first).findIndex((one) => !isRestored(one));
  const limit = count < 0 ? maxSegmentsPerSort : Math.min(count, maxSegmentsPerSort);
  return withRecords.slice(first, first + limit);
}

/** Groups the segments with records into as many units as possible whose row ids do not overlap, in the order of the segments. */
function sortUnitsOf(ranges: readonly RowIdRange[]): readonly SortUnit[] {
  const numbers = [...ranges.keys()].filter((i) => liveRowCount(ranges[i]!.segment) > 0);
  const groups: { first: number; last: number; lastId: number }[] = [];
  for (const i of numbers.toSorted((a, b) => ranges[a]!.first - ranges[b]!.first)) {
    const group = groups.at(-1);
    const { first, last } = ranges[i]!;
    if (group === undefined || first > group.lastId) {
      groups.push({ first: i, last: i, lastId: last });
      continue;
    }
    group.first = Math.min(group.first, i);
    group.last = Math.max(group.last, i);
    group.lastId = Math.max(group.lastId, last);
  }
  const units: { first: number; last: number }[] = [];
  for (const { first, last } of groups.toSorted((a, b) => a.first - b.first)) {
    const unit = units.at(-1);
    if (unit !== undefined && first <= unit.last) unit.last = Math.max(unit.last, last);
    else units.push({ first, last });
  }
  return units;
}

function isSortDue(
  ranges: readonly RowIdRange[],
  { share, leastRows, leastSegments }: SortRule,
): boolean {
  let [recordCount, deletedCount, outOfOrderCount, segmentCount, lastId] = [0, 0, 0, 0, -1];
  for (const { segment, first, last } of ranges) {
    const liveCount = liveRowCount(segment);
    if (liveCount === 0) continue;
    segmentCount++;
    recordCount += liveCount;
    deletedCount += segment.rows - liveCount;
    if (first <= lastId || !areRowIdsAscending(segment)) outOfOrderCount += liveCount;
    lastId = Math.max(lastId, last);
  }
  const rowsOutOfPlace = deletedCount + outOfOrderCount;
  return (
    rowsOutOfPlace >= share * recordCount &&
    rowsOutOfPlace > 0 &&
    (rowsOutOfPlace >= leastRows || segmentCount >= leastSegments)
  );
}
