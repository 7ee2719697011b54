import { describe, expect, test } from '@jest/globals';
import { deletionVector } from '../../../engine/store/deletion-vector.js';
import { areInterleaved, rowIdColumn } from '../../../engine/store/row-ids.js';
import { segmentFormat } from '../../../engine/store/segment.js';
import { planSort } from '../../../engine/store/sort-plan.js';
import { leafKey } from '../../../engine/store/stats.js';
import { liveRows, type Segment } from '../../../engine/store/store.js';
import { seed } from '../../seed.js';
import { random } from './random.js';

let names = 0;

/** A segment with the row ids `ids`, of which the first `deleted` rows are deleted. */
function segment(ids: readonly number[], deleted = 0): Segment {
  const [first, last] = [ids[0]!, ids.at(-1)!];
  const isConsecutive = last - first === ids.length - 1;
  return {
    path: `${names++}.parquet`,
    format: segmentFormat,
    rows: ids.length,
    bytes: 10 * ids.length,
    checksum: '',
    columns: isConsecutive ? [] : [rowIdColumn],
    stats: { [leafKey([rowIdColumn.physical])]: { nulls: 0, min: first, max: last } },
    ...(isConsecutive ? { baseRowId: first } : { isAscending: true }),
    ...(deleted > 0 && { deletion: deletionVector(Int32Array.from({ length: deleted }, (_, i) => i)) }), // prettier-ignore
  };
}

const span = (from: number, to: number, step = 1): number[] =>
  Array.from({ length: Math.ceil((to - from) / step) }, (_, i) => from + step * i);
const isSmall = ({ rows }: Segment): boolean => rows < 500;
const planned = (segments: readonly Segment[], isQuiet: boolean): number[] | undefined =>
  planSort(segments, isQuiet, isSmall)?.map((one) => segments.indexOf(one));

describe('the choice of segments to sort', () => {
  test('waits until a share of the rows is deleted or out of order', () => {
    const base = span(0, 50_000);
    const changedSegments = (count: number): Segment[] => [
      segment(base, count),
      segment(span(0, 2 * count, 2)),
    ];
    expect(planned([segment(base), segment(span(50_000, 60_000))], true)).toBeUndefined();
    expect(planned(changedSegments(4_999), true)).toBeUndefined();
    expect(planned(changedSegments(5_000), true)).toEqual([0, 1]);
    expect(planned(changedSegments(12_499), false)).toBeUndefined();
    expect(planned(changedSegments(12_500), false)).toEqual([0, 1]);
    // Records that were deleted without a replacement are not out of order.
    expect(planned([segment(base, 8_333)], true)).toBeUndefined();
    expect(planned([segment(base, 8_334)], true)).toEqual([0]);
  });

  test('waits in a small dataset for many segments, or for a time without commits', () => {
    const smallSegmentsList = [segment(span(0, 10), 5), segment([0, 2, 4, 6, 8])];
    expect(planned(smallSegmentsList, false)).toBeUndefined();
    expect(planned(smallSegmentsList, true)).toEqual([0, 1]);
    const manySegments = [segment(span(0, 100), 15), ...span(0, 15).map((id) => segment([id]))];
    expect(planned(manySegments, false)).toBeUndefined();
    manySegments[0] = segment(span(0, 100), 50);
    expect(planned(manySegments, false)).toEqual(span(0, 16));
  });

  test('falls on segments that overlap, on those between them, and on small ones without records', () => {
    const lonelySegment = segment(span(0, 1_000));
    const base = segment(span(1_000, 2_000), 500);
    const segmentBetween = segment(span(3_000, 4_000));
    const [smallDead, largeDead] = [segment(span(0, 10), 10), segment(span(0, 900), 900)];
    const overlay = segment(span(1_000, 2_000, 2));
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
    expect(planned([lonelySegment, base, largeDead, segmentBetween, smallDead, overlay], true)).toEqual([1, 3, 4, 5]); // prettier-ignore
    expect(planSort(all.slice(0, 7), true, isSmall)?.length).toBe(5);
  });

  test('falls on rows that do not ascend', () => {
    const { isAscending, ...unsorted } = segment(span(0, 100, 2));
    expect(isAscending).toBe(true);
    expect(planned([segment([1]), unsorted], true)).toEqual([0, 1]);
    expect(planned([unsorted], true)).toEqual([0]);
  });

  test('takes neighbours without overlaps together, up to 64', () => {
    const all = span(0, 100).map((i) => segment(span(1_000 * i, 1_000 * (i + 1)), 300));
    expect(planned(all, true)).toEqual(span(0, 64));
    all[3] = segment(span(3_000, 4_000));
    expect(planned(all, true)).toEqual([0, 1, 2]);
  });
});

test(`ends, and moves each record few times (STRANDLAKE_SEED=${seed})`, () => {
  const next = random(seed);
  const total = 20_000;
  let segments: Segment[] = span(0, 4).map((i) => segment(span(5_000 * i, 5_000 * (i + 1))));
  /** For each row id, the path of the segment that has its record. */
  const owners = new Map<number, string>();
  const rowsOf = new Map<string, readonly number[]>();
  for (const [i, one] of segments.entries()) {
    rowsOf.set(one.path, span(5_000 * i, 5_000 * (i + 1)));
    for (const id of rowsOf.get(one.path)!) owners.set(id, one.path);
  }
  let [replaced, moved, most] = [0, 0, 0];
  for (let commit = 0; commit < 60; commit++) {
    const share = 0.001 + 0.1 * next() ** 3;
    const ids = [...owners.keys()].filter(() => next() < share).toSorted((a, b) => a - b);
    if (ids.length === 0) continue;
    replaced += ids.length;
    add(ids);
    refresh();
    const isQuiet = next() < 0.3;
    for (
      let due = planSort(segments, isQuiet, isSmall);
      due !== undefined;
      due = planSort(segments, isQuiet, isSmall)
    ) {
      // prettier-ignore
      moved += due.reduce((sum, one) => sum + liveRows(one), 0);
      const gonePaths = new Set(due.map(({ path }) => path));
      const sorted = [...owners].filter(([, path]) => gonePaths.has(path)).map(([id]) => id);
      const dead = due.reduce((sum, one) => sum + one.rows - liveRows(one), 0);
      segments = segments.filter(({ path }) => !gonePaths.has(path));
      for (const id of sorted) owners.set(id, 'gone');
      sorted.sort((a, b) => a - b);
      for (let i = 0; i < sorted.length; i += 5_000) add(sorted.slice(i, i + 5_000));
      if (dead > 0) segments.push(segment(span(0, dead), dead));
      refresh();
    }
    const liveSegments = segments.filter((one) => liveRows(one) > 0);
    most = Math.max(most, liveSegments.length);
    expect(owners.size).toBe(total);
  }
  // A fifth of the rows, deleted or out of order, makes a sort due.
  expect(moved).toBeLessThan(10 * replaced + 2 * total);
  expect(most).toBeLessThan(4 + 60);
  expect(planSort(segments, true, isSmall) === undefined || areInterleaved(segments)).toBe(true);

  function add(ids: readonly number[]): void {
    const mergedSegment = segment(ids);
    rowsOf.set(mergedSegment.path, ids);
    segments.push(mergedSegment);
    for (const id of ids) owners.set(id, mergedSegment.path);
  }

  /** Names the rows of which another segment has the record. */
  function refresh(): void {
    segments = segments.map((one) => {
      const ids = rowsOf.get(one.path);
      if (ids === undefined) return one;
      const goneRows = ids.flatMap((id, row) => (owners.get(id) === one.path ? [] : [row]));
      const { deletion, ...rest } = one;
      if (goneRows.length === (deletion?.rows ?? 0)) return one;
      return { ...rest, deletion: deletionVector(Int32Array.from(goneRows)) };
    });
  }
});
