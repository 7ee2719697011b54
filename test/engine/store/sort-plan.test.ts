import { describe, expect, test } from '@jest/globals';
import { deletionVector } from '../../../engine/store/deletion-vector.js';
import { areRowIdsInterleaved, rowIdColumn } from '../../../engine/store/row-ids.js';
import { segmentFormat } from '../../../engine/store/segment.js';
import { planSort } from '../../../engine/store/sort-plan.js';
import { leafKey } from '../../../engine/store/segment-stats.js';
import { liveRowCount, type Segment } from '../../../engine/store/store.js';
import { seed } from '../../seed.js';
import { random } from './random.js';

let nextSegmentNumber = 0;

/** Returns a segment with the row ids `ids`, the first `deletedCount` of which are deleted rows. */
function segmentOfRowIds(ids: readonly number[], deletedCount = 0): Segment {
  const [first, last] = [ids[0]!, ids.at(-1)!];
  const isConsecutive = last - first === ids.length - 1;
  return {
    path: `${nextSegmentNumber++}.parquet`,
    format: segmentFormat,
    rows: ids.length,
    bytes: 10 * ids.length,
    checksum: '',
    columns: isConsecutive ? [] : [rowIdColumn],
    stats: { [leafKey([rowIdColumn.physical])]: { nulls: 0, min: first, max: last } },
    ...(isConsecutive ? { baseRowId: first } : { isAscending: true }),
    ...(deletedCount > 0 && { deletion: deletionVector(Int32Array.from({ length: deletedCount }, (_, i) => i)) }), // prettier-ignore
  };
}

const rowIdRange = (from: number, to: number, step = 1): number[] =>
  Array.from({ length: Math.ceil((to - from) / step) }, (_, i) => from + step * i);
const isSmallSegment = ({ rows }: Segment): boolean => rows < 500;
const plannedSegments = (segments: readonly Segment[], isQuiet: boolean): number[] | undefined =>
  planSort(segments, isQuiet, isSmallSegment)?.map((one) => segments.indexOf(one));

describe('the choice of segments to sort', () => {
  test('waits until a share of the rows is deleted or out of order', () => {
    const base = rowIdRange(0, 50_000);
    const changedSegments = (count: number): Segment[] => [
      segmentOfRowIds(base, count),
      segmentOfRowIds(rowIdRange(0, 2 * count, 2)),
    ];
    expect(
      plannedSegments([segmentOfRowIds(base), segmentOfRowIds(rowIdRange(50_000, 60_000))], true),
    ).toBeUndefined();
    expect(plannedSegments(changedSegments(4_999), true)).toBeUndefined();
    expect(plannedSegments(changedSegments(5_000), true)).toEqual([0, 1]);
    expect(plannedSegments(changedSegments(12_499), false)).toBeUndefined();
    expect(plannedSegments(changedSegments(12_500), false)).toEqual([0, 1]);
    // Records that were deleted without being replaced are not out of order.
    expect(plannedSegments([segmentOfRowIds(base, 8_333)], true)).toBeUndefined();
    expect(plannedSegments([segmentOfRowIds(base, 8_334)], true)).toEqual([0]);
  });

  test('waits in a small dataset for many segments, or for a time without commits', () => {
    const smallSegmentsList = [
      segmentOfRowIds(rowIdRange(0, 10), 5),
      segmentOfRowIds([0, 2, 4, 6, 8]),
    ];
    expect(plannedSegments(smallSegmentsList, false)).toBeUndefined();
    expect(plannedSegments(smallSegmentsList, true)).toEqual([0, 1]);
    const manySegments = [
      segmentOfRowIds(rowIdRange(0, 100), 15),
      ...rowIdRange(0, 15).map((id) => segmentOfRowIds([id])),
    ];
    expect(plannedSegments(manySegments, false)).toBeUndefined();
    manySegments[0] = segmentOfRowIds(rowIdRange(0, 100), 50);
    expect(plannedSegments(manySegments, false)).toEqual(rowIdRange(0, 16));
  });

  test('falls on segments that overlap, on those between them, and on small ones without records', () => {
    const lonelySegment = segmentOfRowIds(rowIdRange(0, 1_000));
    const base = segmentOfRowIds(rowIdRange(1_000, 2_000), 500);
    const segmentBetween = segmentOfRowIds(rowIdRange(3_000, 4_000));
    const [smallDead, largeDead] = [
      segmentOfRowIds(rowIdRange(0, 10), 10),
      segmentOfRowIds(rowIdRange(0, 900), 900),
    ];
    const overlay = segmentOfRowIds(rowIdRange(1_000, 2_000, 2));
    const all = [
      lonelySegment,
      base,
      largeDead,
      segmentBetween,
      smallDead,
      overlay,
      smallDead,
      lonelySegment,
    ];
    expect(plannedSegments([lonelySegment, base, largeDead, segmentBetween, smallDead, overlay], true)).toEqual([1, 3, 4, 5]); // prettier-ignore
    expect(planSort(all.slice(0, 7), true, isSmallSegment)?.length).toBe(5);
  });

  test('falls on segments of deleted rows some of which were restored, after a time without commits', () => {
    const base = segmentOfRowIds(rowIdRange(0, 50_000), 100);
    const deadSegment = segmentOfRowIds(rowIdRange(1, 5_000, 2), 2_500);
    const restoredSegments = [segmentOfRowIds(rowIdRange(0, 3_000, 2), 1_450), segmentOfRowIds(rowIdRange(3_000, 6_000, 2), 1_450)]; // prettier-ignore
    expect(plannedSegments([base, deadSegment, ...restoredSegments], false)).toBeUndefined();
    expect(plannedSegments([base, deadSegment, ...restoredSegments], true)).toEqual([2, 3]);
    expect(
      plannedSegments([base, restoredSegments[0]!, deadSegment, restoredSegments[1]!], true),
    ).toEqual([1, 3]);
    // What the sort of these makes is not sorted again.
    const sortedSegments = [segmentOfRowIds(rowIdRange(0, 6_000, 60)), segmentOfRowIds(rowIdRange(0, 5_800, 2), 2_900)]; // prettier-ignore
    expect(plannedSegments([base, deadSegment, ...sortedSegments], true)).toBeUndefined();
  });

  test('falls on rows that do not ascend', () => {
    const { isAscending, ...unsortedSegment } = segmentOfRowIds(rowIdRange(0, 100, 2));
    expect(isAscending).toBe(true);
    expect(plannedSegments([segmentOfRowIds([1]), unsortedSegment], true)).toEqual([0, 1]);
    expect(plannedSegments([unsortedSegment], true)).toEqual([0]);
  });

  test('takes neighbours without overlaps together, up to 64', () => {
    const all = rowIdRange(0, 100).map((i) =>
      segmentOfRowIds(rowIdRange(1_000 * i, 1_000 * (i + 1)), 300),
    );
    expect(plannedSegments(all, true)).toEqual(rowIdRange(0, 64));
    all[3] = segmentOfRowIds(rowIdRange(3_000, 4_000));
    expect(plannedSegments(all, true)).toEqual([0, 1, 2]);
  });
});

test(`ends, and moves each record few times (STRANDLAKE_SEED=${seed})`, () => {
  const next = random(seed);
  const recordCount = 20_000;
  let segments: Segment[] = rowIdRange(0, 4).map((i) =>
    segmentOfRowIds(rowIdRange(5_000 * i, 5_000 * (i + 1))),
  );
  /** For each row id, the path of the segment that has its record. */
  const owners = new Map<number, string>();
  const rowIdsByPath = new Map<string, readonly number[]>();
  for (const [i, one] of segments.entries()) {
    rowIdsByPath.set(one.path, rowIdRange(5_000 * i, 5_000 * (i + 1)));
    for (const id of rowIdsByPath.get(one.path)!) owners.set(id, one.path);
  }
  let [replacedCount, movedCount, mostSegments] = [0, 0, 0];
  for (let commit = 0; commit < 60; commit++) {
    const share = 0.001 + 0.1 * next() ** 3;
    const ids = [...owners.keys()].filter(() => next() < share).toSorted((a, b) => a - b);
    if (ids.length === 0) continue;
    replacedCount += ids.length;
    addSegment(ids);
    markReplacedRows();
    const isQuiet = next() < 0.3;
    for (
      let dueSegments = planSort(segments, isQuiet, isSmallSegment);
      dueSegments !== undefined;
      dueSegments = planSort(segments, isQuiet, isSmallSegment)
    ) {
      // prettier-ignore
      movedCount += dueSegments.reduce((sum, one) => sum + liveRowCount(one), 0);
      const gonePaths = new Set(dueSegments.map(({ path }) => path));
      const sortedIds = [...owners].filter(([, path]) => gonePaths.has(path)).map(([id]) => id);
      const deadRowCount = dueSegments.reduce((sum, one) => sum + one.rows - liveRowCount(one), 0);
      segments = segments.filter(({ path }) => !gonePaths.has(path));
      for (const id of sortedIds) owners.set(id, 'gone');
      sortedIds.sort((a, b) => a - b);
      for (let i = 0; i < sortedIds.length; i += 5_000) addSegment(sortedIds.slice(i, i + 5_000));
      if (deadRowCount > 0)
        segments.push(segmentOfRowIds(rowIdRange(0, deadRowCount), deadRowCount));
      markReplacedRows();
    }
    const liveSegments = segments.filter((one) => liveRowCount(one) > 0);
    mostSegments = Math.max(mostSegments, liveSegments.length);
    expect(owners.size).toBe(recordCount);
  }
  // A sort becomes due only when the rows that are deleted or out of order are at least a fifth of the records, which bounds the number of
  // rows that are moved.
  expect(movedCount).toBeLessThan(10 * replacedCount + 2 * recordCount);
  expect(mostSegments).toBeLessThan(4 + 60);
  expect(
    planSort(segments, true, isSmallSegment) === undefined || areRowIdsInterleaved(segments),
  ).toBe(true);

  function addSegment(ids: readonly number[]): void {
    const newSegment = segmentOfRowIds(ids);
    rowIdsByPath.set(newSegment.path, ids);
    segments.push(newSegment);
    for (const id of ids) owners.set(id, newSegment.path);
  }

  /** Marks the rows as deleted whose record another segment has. */
  function markReplacedRows(): void {
    segments = segments.map((one) => {
      const ids = rowIdsByPath.get(one.path);
      if (ids === undefined) return one;
      const goneRows = ids.flatMap((id, row) => (owners.get(id) === one.path ? [] : [row]));
      const { deletion, ...rest } = one;
      if (goneRows.length === (deletion?.rows ?? 0)) return one;
      return { ...rest, deletion: deletionVector(Int32Array.from(goneRows)) };
    });
  }
});
