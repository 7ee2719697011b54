import type { Columns } from '../core/types.js';
import { reservedColumns } from './arrow-columns.js';
import { rowsPerRowGroup } from '../parquet/file-encoder.js';
import { entryTimeAt } from './entry-time.js';
import { isOutdated } from './segment.js';
import { liveRowCount, type Segment } from './store.js';

/*
 * Chooses the segments to merge (docs/decisions/0015-compaction.md). The weight of a segment is its size as a share of the maximum size of
 * a merged segment; segments with a weight of 0.5 or more are not merged with others. Only neighbours are, so that records keep their
 * order. Segments without records are skipped, and merged with each other where no record lies between them: rollbacks need their rows, and
 * each upsert of the same records adds one.
 */

/**
 * Maximum size of a merged segment in bytes, which a pool thread can hold decoded in memory. It may also have at most `maxMergedValues`
 * values and one row group.
 */
const maxMergedBytes = 16 << 20;
const maxMergedValues = 4_000_000;
/** Maximum number of segments to merge at a time: more would occupy a thread for seconds, for which an import may be waiting. */
const maxMergeSources = 256;
/** Neighbours are merged for their size only if each weighs less than this. */
const maxSmallWeight = 0.5;
/** If at least this share of a segment's rows is deleted, and rollbacks need none of these rows, the segment is rewritten without them. */
const minDeletedShare = 0.2;

/**
 * Small neighbours are merged if there are at least `few` of them and one of these conditions holds: none has more than the share `largest`
 * of their total weight, their total weight is at least 1, or there are at least `many` of them.
 */
interface MergeRule {
  readonly few: number;
  readonly many: number;
  readonly largest: number;
}
const activeDatasetRule: MergeRule = { few: 16, many: 64, largest: 1 / 4 };
/** The rule for datasets without recent commits. It leaves fewer files, at the cost of more rewriting. */
const idleDatasetRule: MergeRule = { few: 4, many: 64, largest: 1 / 2 };

/** Rows that were deleted before `dropBefore` need not be kept for rollbacks at the time `now`; both in milliseconds since 1970. */
interface DeletionWindow {
  readonly dropBefore: number;
  readonly now: number;
}

/**
 * Returns the first neighbours that should be merged, or a single segment that should be rewritten because many of its rows are deleted or,
 * in a quiet dataset, because it is outdated (`isOutdated`); undefined if there is nothing to do. `isQuiet` says that the dataset has had
 * no commit for some time.
 */
export function planMerge(
  segments: readonly Segment[],
  isQuiet = false,
  window: DeletionWindow = { dropBefore: 0, now: 0 },
): readonly Segment[] | undefined {
  const rule = isQuiet ? idleDatasetRule : activeDatasetRule;
  return (
    smallNeighbouringSegments(segments, rule, hasRecords, () => false) ??
    smallNeighbouringSegments(segments, rule, (one) => !hasRecords(one), hasRecords) ??
    largelyDeletedSegments(segments, window) ??
    (isQuiet ? outdatedSegments(segments) : undefined)
  );
}

function largelyDeletedSegments(
  segments: readonly Segment[],
  window: DeletionWindow,
): readonly Segment[] | undefined {
  const largelyDeleted = segments.find(
    (segment) =>
      segment.deletion !== undefined &&
      isDeletionExpired(segment, window) &&
      segment.deletion.rows >= minDeletedShare * segment.rows,
  );
  return largelyDeleted && [largelyDeleted];
}

/** Returns whether no deleted row of a segment need be kept for rollbacks. */
export function isDeletionExpired(
  { deletion, deletedAt = 0, latestTimeBeforeDeletion }: Segment,
  { dropBefore, now }: DeletionWindow,
): boolean {
  return (
    deletion === undefined || entryTimeAt(now, deletedAt, latestTimeBeforeDeletion) < dropBefore
  );
}

function outdatedSegments(segments: readonly Segment[]): readonly Segment[] | undefined {
  const outdatedSegment = segments.find(isOutdated);
  return outdatedSegment && [outdatedSegment];
}

function hasRecords(segment: Segment): boolean {
  return liveRowCount(segment) > 0;
}

/**
 * Returns the segments to merge of the first due run of small segments for which `isWanted` is true; undefined if no run is due. A large
 * wanted segment, and an unwanted one for which `separates` is true, end a run; other segments are skipped.
 */
function smallNeighbouringSegments(
  segments: readonly Segment[],
  rule: MergeRule,
  isWanted: (segment: Segment) => boolean,
  separates: (segment: Segment) => boolean,
): readonly Segment[] | undefined {
  let run: WeighedSegment[] = [];
  for (const segment of segments) {
    const isCandidate = isWanted(segment);
    if (!isCandidate && !separates(segment)) continue;
    const weight = mergeWeightOf(segment);
    if (isCandidate && weight < maxSmallWeight) {
      run.push({ segment, weight });
      continue;
    }
    const dueRun = mergeableRun(run, rule);
    if (dueRun !== undefined) return fillRun(dueRun);
    run = [];
  }
  const dueRun = mergeableRun(run, rule);
  return dueRun && fillRun(dueRun);
}

interface WeighedSegment {
  readonly segment: Segment;
  readonly weight: number;
}

/** Returns whether a segment is small enough to be merged with other segments. */
export function isMergeable(segment: Segment): boolean {
  return mergeWeightOf(segment) < maxSmallWeight;
}

/** Returns the number of rows that one segment should have if its records are like those of `segments`. */
export function targetRowsPerSegment(segments: readonly Segment[]): number {
  const rows = segments.reduce((sum, segment) => sum + segment.rows, 0);
  const weight = segments.reduce((sum, segment) => sum + mergeWeightOf(segment), 0);
  return Math.max(1, Math.min(rowsPerRowGroup, Math.floor(rows / weight)));
}

function mergeWeightOf({ rows, bytes, columns }: Segment): number {
  const values = rows * (reservedColumns.length + leafCount(columns));
  return Math.max(rows / rowsPerRowGroup, bytes / maxMergedBytes, values / maxMergedValues);
}

/** The numbers of leaves are cached, because each plan needs them for all segments, most of which share their columns. */
const leafCountByColumns = new WeakMap<Columns, number>();

function leafCount(columns: Columns): number {
  let count = leafCountByColumns.get(columns);
  if (count === undefined) {
    count = columns.reduce((sum, { children }) => sum + (children ? leafCount(children) : 1), 0);
    leafCountByColumns.set(columns, count);
  }
  return count;
}

/**
 * Returns the part of a run of small segments that is worth merging; undefined if none is. A segment much heavier than its neighbours waits
 * until these have grown, so that its records are not rewritten each time when a few others are added.
 */
function mergeableRun(
  run: readonly WeighedSegment[],
  rule: MergeRule,
): readonly WeighedSegment[] | undefined {
  if (run.length < rule.few) return undefined;
  const weight = totalWeight(run);
  let largestAt = 0;
  for (const [i, one] of run.entries()) if (one.weight > run[largestAt]!.weight) largestAt = i;
  const isEven = run[largestAt]!.weight <= weight * rule.largest;
  if (isEven || weight >= 1 || run.length >= rule.many) return run;
  return (
    mergeableRun(run.slice(0, largestAt), rule) ?? mergeableRun(run.slice(largestAt + 1), rule)
  );
}

function totalWeight(run: readonly WeighedSegment[]): number {
  return run.reduce((sum, { weight }) => sum + weight, 0);
}

/** Returns the longest prefix of the run that fits into one segment, with at most `maxMergeSources` segments. */
function fillRun(run: readonly WeighedSegment[]): readonly Segment[] {
  let weight = 0;
  let count = 0;
  for (const one of run) {
    weight += one.weight;
    if (weight > 1 || count === maxMergeSources) break;
    count++;
  }
  return run.slice(0, count).map(({ segment }) => segment);
}
