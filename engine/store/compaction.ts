import type { Columns } from '../core/types.js';
import { reservedColumns } from './arrow.js';
import { rowGroupRows } from '../parquet/file-encoder.js';
import { isOutdated } from './segment.js';
import { liveRows, type Segment } from './store.js';

/*
 * Chooses the segments to merge (docs/decisions/0015-compaction.md). The weight of a segment is its size as a share of the largest
 * merged segment; segments of at least half that size are never merged. Only neighbours are merged, so that records keep their order;
 * segments without records are passed over.
 */

/** Limits of a merged segment, besides one row group: what a pool thread can hold decoded in memory. */
const maxBytes = 16 << 20;
const maxValues = 4_000_000;
/** The most sources of a merge: more would occupy a thread for seconds, for which an import may be waiting. */
const maxSources = 256;
/** Segments of a smaller weight are merged. */
const smallWeight = 0.5;
/** A segment of which this share is deleted is rewritten without the deleted rows. */
const deletedShare = 0.2;

/** Small neighbours are merged if they are at least `few` and none has more than the share `largest` of their weight, or if they are `many`. */
interface MergeRule {
  readonly few: number;
  readonly many: number;
  readonly largest: number;
}
const busyRule: MergeRule = { few: 16, many: 64, largest: 1 / 4 };
/** The rule for datasets without recent commits: leaves fewer files, at the cost of more rewriting. */
const quietRule: MergeRule = { few: 4, many: 64, largest: 1 / 2 };

/**
 * The first neighbours that should be merged, or a segment that is rewritten alone, because many of its rows are deleted or because it has
 * an earlier format; undefined if there are none. `isQuiet`: the dataset has had no commit for a while. Rows that were deleted before
 * `dropBefore`, milliseconds since 1970, need not be kept for rollbacks.
 */
export function planMerge(
  segments: readonly Segment[],
  isQuiet = false,
  dropBefore = 0,
): readonly Segment[] | undefined {
  return (
    smallNeighbours(segments, isQuiet ? quietRule : busyRule) ??
    largelyDeleted(segments, dropBefore) ??
    (isQuiet ? outdatedSegments(segments) : undefined)
  );
}

function largelyDeleted(
  segments: readonly Segment[],
  dropBefore: number,
): readonly Segment[] | undefined {
  const found = segments.find(
    ({ rows, deletion, deletedAt = 0 }) =>
      deletion !== undefined && deletedAt < dropBefore && deletion.rows >= deletedShare * rows,
  );
  return found && [found];
}

function outdatedSegments(segments: readonly Segment[]): readonly Segment[] | undefined {
  const found = segments.find(isOutdated);
  return found && [found];
}

function smallNeighbours(
  segments: readonly Segment[],
  rule: MergeRule,
): readonly Segment[] | undefined {
  let run: Weighed[] = [];
  for (const segment of segments) {
    if (liveRows(segment) === 0) continue;
    const weight = weightOf(segment);
    if (weight < smallWeight) {
      run.push({ segment, weight });
      continue;
    }
    const due = dueOf(run, rule);
    if (due !== undefined) return fillRun(due);
    run = [];
  }
  const due = dueOf(run, rule);
  return due && fillRun(due);
}

interface Weighed {
  readonly segment: Segment;
  readonly weight: number;
}

/** Whether a segment may be merged with others. */
export function isSmall(segment: Segment): boolean {
  return weightOf(segment) < smallWeight;
}

/** The number of rows that one segment of such records should have. */
export function rowsPerSegment(segments: readonly Segment[]): number {
  const rows = segments.reduce((sum, segment) => sum + segment.rows, 0);
  const weight = segments.reduce((sum, segment) => sum + weightOf(segment), 0);
  return Math.max(1, Math.min(rowGroupRows, Math.floor(rows / weight)));
}

function weightOf({ rows, bytes, columns }: Segment): number {
  const values = rows * (reservedColumns.length + leafCount(columns));
  return Math.max(rows / rowGroupRows, bytes / maxBytes, values / maxValues);
}

/** Cached, because every commit asks and most segments of a dataset share their columns. */
const leafCounts = new WeakMap<Columns, number>();

function leafCount(columns: Columns): number {
  let count = leafCounts.get(columns);
  if (count === undefined) {
    count = columns.reduce((sum, { children }) => sum + (children ? leafCount(children) : 1), 0);
    leafCounts.set(columns, count);
  }
  return count;
}

/**
 * The part of a run of small segments that is worth merging. A segment much heavier than the others waits until they have grown. Each
 * merge therefore moves a record to a segment of about four times the weight, and a million records committed one by one are rewritten
 * at most ten times each.
 */
function dueOf(run: readonly Weighed[], rule: MergeRule): readonly Weighed[] | undefined {
  if (run.length < rule.few) return undefined;
  const weight = weightOfAll(run);
  let largestAt = 0;
  for (const [i, one] of run.entries()) if (one.weight > run[largestAt]!.weight) largestAt = i;
  const isEven = run[largestAt]!.weight <= weight * rule.largest;
  if (isEven || weight >= 1 || run.length >= rule.many) return run;
  return dueOf(run.slice(0, largestAt), rule) ?? dueOf(run.slice(largestAt + 1), rule);
}

function weightOfAll(run: readonly Weighed[]): number {
  return run.reduce((sum, { weight }) => sum + weight, 0);
}

/** The longest prefix of the run that fits into one segment. */
function fillRun(run: readonly Weighed[]): readonly Segment[] {
  let weight = 0;
  let count = 0;
  for (const one of run) {
    weight += one.weight;
    if (weight > 1 || count === maxSources) break;
    count++;
  }
  return run.slice(0, count).map(({ segment }) => segment);
}
