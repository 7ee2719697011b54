import { isAscending, rowIdRanges, type RowIdRange } from './row-ids.js';
import { liveRows, type Segment } from './store.js';

/*
 * Chooses the segments whose rows a merge sorts by row id (docs/decisions/0027-sorting-merges.md): those that the records of a page are
 * spread over, because many were replaced, and those that queries read in vain, because many of their rows are deleted.
 */

/** When segments are sorted: the share of deleted rows and rows out of order. */
interface SortRule {
  readonly share: number;
  /** Minimum number of such rows and segments for sorting at once; with fewer, sorting waits for a time without commits. */
  readonly leastRows: number;
  readonly leastSegments: number;
}
const busyRule: SortRule = { share: 0.5, leastRows: 20_000, leastSegments: 16 };
const quietRule: SortRule = { share: 0.2, leastRows: 1, leastSegments: 1 };
/** More segments than this are sorted together only if their row ids overlap. */
const maxTogether = 64;

/** Segments that are sorted together, from index `first` to `last`. */
interface SortUnit {
  readonly first: number;
  readonly last: number;
}

/**
 * The segments to sort next; undefined if there are none. Those between them that are not among them have no records. Segments with nothing
 * but deleted rows are included as long as they are small, so that their number stays small, too.
 */
export function planSort(
  segments: readonly Segment[],
  isQuiet: boolean,
  isSmall: (segment: Segment) => boolean,
): readonly Segment[] | undefined {
  const ranges = [...rowIdRanges(segments)];
  const rule = isQuiet ? quietRule : busyRule;
  let chosenUnit: SortUnit | undefined;
  for (const unit of unitsOf(ranges)) {
    const isDue = isSortDue(ranges.slice(unit.first, unit.last + 1), rule);
    if (!isDue && chosenUnit !== undefined) break;
    if (!isDue) continue;
    if (chosenUnit !== undefined && unit.last - chosenUnit.first >= maxTogether) break;
    chosenUnit = { first: chosenUnit?.first ?? unit.first, last: unit.last };
  }
  if (chosenUnit === undefined) return undefined;
  let end = chosenUnit.last + 1;
  while (end < segments.length && liveRows(segments[end]!) === 0) end++;
  return segments.slice(chosenUnit.first, end).filter((one) => liveRows(one) > 0 || isSmall(one));
}

/** The segments with records, in as many units as there are without overlapping row ids, in their order. */
function unitsOf(ranges: readonly RowIdRange[]): readonly SortUnit[] {
  const numbers = [...ranges.keys()].filter((i) => liveRows(ranges[i]!.segment) > 0);
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
  let [records, deleted, outOfOrder, count, lastId] = [0, 0, 0, 0, -1];
  for (const { segment, first, last } of ranges) {
    const liveCount = liveRows(segment);
    if (liveCount === 0) continue;
    count++;
    records += liveCount;
    deleted += segment.rows - liveCount;
    if (first <= lastId || !isAscending(segment)) outOfOrder += liveCount;
    lastId = Math.max(lastId, last);
  }
  const rows = deleted + outOfOrder;
  return rows >= share * records && rows > 0 && (rows >= leastRows || count >= leastSegments);
}
