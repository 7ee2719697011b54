import { describe, expect, test } from '@jest/globals';
import { planMerge } from '../../../engine/store/compaction.js';
import { deletionVector } from '../../../engine/store/deletion-vector.js';
import { segmentFormat } from '../../../engine/store/segment.js';
import type { Segment } from '../../../engine/store/store.js';
import type { Columns } from '../../../engine/core/types.js';
import { random } from './random.js';

const columns: Columns = [{ name: 'n', physical: 'n', type: 'long', isList: false }];
let nextSegmentNumber = 0;
const segmentOf = (rows: number, bytes = rows * 10): Segment => ({
  path: `${nextSegmentNumber++}.parquet`,
  format: segmentFormat,
  rows,
  bytes,
  checksum: '',
  columns,
  stats: {},
});

/**
 * Makes commits of the given sizes, each followed by the merges that are due; returns the remaining segments, the number of records that
 * merges have written, and the largest number of segments after a commit and its merges.
 */
function compactAfterCommits(
  sizes: readonly number[],
  isQuiet = false,
): { segmentsLeft: Segment[]; rewrittenRows: number; mostSegments: number } {
  let segmentsLeft: Segment[] = [];
  let rewrittenRows = 0;
  let maxSegmentCount = 0;
  for (const rows of sizes) {
    segmentsLeft.push(segmentOf(rows));
    for (
      let dueSegments = planMerge(segmentsLeft, isQuiet);
      dueSegments !== undefined;
      dueSegments = planMerge(segmentsLeft, isQuiet)
    ) {
      const at = segmentsLeft.indexOf(dueSegments[0]!);
      // The segments that a merge combines are neighbours, in order.
      expect(segmentsLeft.slice(at, at + dueSegments.length)).toEqual(dueSegments);
      expect(dueSegments.length).toBeGreaterThan(1);
      const total = dueSegments.reduce((sum, one) => sum + one.rows, 0);
      expect(total).toBeLessThanOrEqual(122_880);
      rewrittenRows += total;
      segmentsLeft = [
        ...segmentsLeft.slice(0, at),
        segmentOf(total),
        ...segmentsLeft.slice(at + dueSegments.length),
      ];
    }
    maxSegmentCount = Math.max(maxSegmentCount, segmentsLeft.length);
  }
  return { segmentsLeft, rewrittenRows, mostSegments: maxSegmentCount };
}

describe('the choice of segments to merge', () => {
  test('falls on segments of an earlier format, one by one, when nothing else is due and the dataset is quiet', () => {
    const oldSegment = { ...segmentOf(122_880), format: 2 };
    const smallSegments = [segmentOf(1), segmentOf(1), segmentOf(1), segmentOf(1)];
    const all = [
      segmentOf(122_880),
      oldSegment,
      segmentOf(100_000),
      { ...oldSegment, path: 'b' },
      ...smallSegments,
    ];
    expect(planMerge(all)).toBeUndefined();
    expect(planMerge(all, true)).toEqual(smallSegments);
    expect(planMerge(all.slice(0, 4), true)).toEqual([oldSegment]);
    expect(planMerge([segmentOf(122_880)], true)).toBeUndefined();
  });

  test('falls on segments of format 3 only if they have texts in lists, which get an index', () => {
    const olderSegment = { ...segmentOf(122_880), format: 3 };
    const text = { name: 't', physical: 't', type: 'text', isList: false } as const;
    const listColumn = { ...text, isList: true };
    const objectWith = (...children: Columns): Columns => [{ ...text, type: 'object', children }];
    const listColumnSets = [
      [listColumn],
      objectWith(listColumn),
      [{ ...objectWith(text)[0]!, isList: true }],
      objectWith(...objectWith(listColumn)),
    ];
    for (const columns of [[], [text], objectWith(text)])
      expect(planMerge([{ ...olderSegment, columns }], true)).toBeUndefined();
    for (const columns of listColumnSets) {
      const oldSegment = { ...olderSegment, columns };
      expect(planMerge([oldSegment], true)).toEqual([oldSegment]);
      expect(planMerge([{ ...oldSegment, format: segmentFormat }], true)).toBeUndefined();
    }
  });

  test('falls on neighbours without records, however many there are, and never on those with a record between them', () => {
    const deadSegment = (rows = 1): Segment => ({
      ...segmentOf(rows),
      deletion: deletionVector(Int32Array.from({ length: rows }, (_, row) => row)),
    });
    const deadSegments = Array.from({ length: 100 }, () => deadSegment());
    const liveSegment = segmentOf(5);
    expect(planMerge([liveSegment, ...deadSegments, liveSegment])).toEqual(deadSegments);
    expect(planMerge([liveSegment, ...deadSegments.slice(0, 15), liveSegment])).toBeUndefined();
    expect(planMerge([liveSegment, ...deadSegments.slice(0, 4), liveSegment], true)).toEqual(
      deadSegments.slice(0, 4),
    );
    const separatedSegments = deadSegments.flatMap((one, i) =>
      i % 10 === 0 ? [segmentOf(100_000), one] : [one],
    );
    expect(planMerge(separatedSegments)).toBeUndefined();
    const largeDeadSegments = Array.from({ length: 20 }, () => deadSegment(100_000));
    expect(planMerge(largeDeadSegments)).toBeUndefined();
    // An upsert of the same records leaves a segment without records each time.
    let segmentsLeft: Segment[] = [segmentOf(300)];
    let mostSegments = 0;
    let rewrittenRows = 0;
    for (let i = 0; i < 3_000; i++) {
      segmentsLeft = [
        ...segmentsLeft.slice(0, -1),
        ...(i === 0 ? segmentsLeft : [deadSegment(5)]),
        segmentOf(5),
      ];
      for (
        let dueSegments = planMerge(segmentsLeft);
        dueSegments !== undefined;
        dueSegments = planMerge(segmentsLeft)
      ) {
        const total = dueSegments.reduce((sum, { rows }) => sum + rows, 0);
        rewrittenRows += total;
        const [at, count] = [segmentsLeft.indexOf(dueSegments[0]!), dueSegments.length];
        expect(segmentsLeft.slice(at, at + count)).toEqual(dueSegments);
        segmentsLeft = segmentsLeft.toSpliced(at, count, deadSegment(total));
      }
      mostSegments = Math.max(mostSegments, segmentsLeft.length);
    }
    expect(mostSegments).toBeLessThan(64);
    expect(rewrittenRows / 15_000).toBeLessThan(10);
  });

  test('contains neither a few segments nor large ones', () => {
    expect(planMerge([])).toBeUndefined();
    expect(planMerge(Array.from({ length: 15 }, () => segmentOf(1)))).toBeUndefined();
    expect(planMerge(Array.from({ length: 500 }, () => segmentOf(61_440)))).toBeUndefined();
    expect(planMerge(Array.from({ length: 500 }, () => segmentOf(1, 9 << 20)))).toBeUndefined();
    const alternating = Array.from({ length: 100 }, (_, i) => segmentOf(i % 2 === 0 ? 1 : 100_000));
    expect(planMerge(alternating)).toBeUndefined();
  });

  test('contains all of many small segments, up to a full segment', () => {
    const tinySegments = Array.from({ length: 1_000 }, () => segmentOf(100));
    expect(planMerge(tinySegments)).toEqual(tinySegments.slice(0, 256));
    const mediumSegments = Array.from({ length: 100 }, () => segmentOf(10_000));
    expect(planMerge(mediumSegments)).toEqual(mediumSegments.slice(0, 12));
    const segmentsBehind = [segmentOf(100_000), ...tinySegments, segmentOf(100_000)];
    expect(planMerge(segmentsBehind)).toEqual(tinySegments.slice(0, 256));
  });

  test.each([
    ['one record a time', 20_000, () => 1],
    ['a hundred a time', 5_000, () => 100],
    ['sizes of all kinds', 5_000, (next: () => number) => Math.ceil(10 ** (5 * next()))],
    ['sizes that fall', 5_000, (_: () => number, i: number) => Math.ceil(60_000 / (1 + i))],
  ])('keeps segments few and rewriting rare: %s', (_, count, size) => {
    const seed = 11;
    const next = random(seed);
    const sizes = Array.from({ length: count }, (_one, i) => size(next, i));
    const rows = sizes.reduce((sum, one) => sum + one, 0);
    const { segmentsLeft, rewrittenRows, mostSegments } = compactAfterCommits(sizes);
    expect(segmentsLeft.reduce((sum, one) => sum + one.rows, 0)).toBe(rows);
    const largeCount = segmentsLeft.filter((one) => one.rows >= 61_440).length;
    expect(mostSegments).toBeLessThan(64 * (largeCount + 1));
    expect(segmentsLeft.length - largeCount).toBeLessThan(40 * (largeCount + 1));
    expect(rewrittenRows / rows).toBeLessThan(10);
  });

  test('merges a few segments only in quiet times, even after each commit', () => {
    const { segmentsLeft, rewrittenRows, mostSegments } = compactAfterCommits(Array.from({ length: 20_000 }, () => 1), true); // prettier-ignore
    expect(segmentsLeft.reduce((sum, one) => sum + one.rows, 0)).toBe(20_000);
    expect(mostSegments).toBeLessThan(20);
    expect(segmentsLeft.length).toBeLessThan(20);
    expect(rewrittenRows / 20_000).toBeLessThan(20);
  });
});
