import { describe, expect, test } from '@jest/globals';
import { planMerge } from '../../../engine/store/compaction.js';
import { segmentFormat } from '../../../engine/store/segment.js';
import type { Segment } from '../../../engine/store/store.js';
import type { Columns } from '../../../engine/core/types.js';
import { random } from './random.js';

const columns: Columns = [{ name: 'n', physical: 'n', type: 'long', isList: false }];
let names = 0;
const segment = (rows: number, bytes = rows * 10): Segment => ({
  path: `${names++}.parquet`,
  format: segmentFormat,
  rows,
  bytes,
  checksum: '',
  columns,
  stats: {},
});

/** Commits of these sizes, with whatever is due merged after each; what is left, and how often records were rewritten. */
function committed(
  sizes: readonly number[],
  isQuiet = false,
): { left: Segment[]; rewritten: number; most: number } {
  let left: Segment[] = [];
  let rewritten = 0;
  let most = 0;
  for (const rows of sizes) {
    left.push(segment(rows));
    for (let due = planMerge(left, isQuiet); due !== undefined; due = planMerge(left, isQuiet)) {
      const at = left.indexOf(due[0]!);
      // Neighbours, in order.
      expect(left.slice(at, at + due.length)).toEqual(due);
      expect(due.length).toBeGreaterThan(1);
      const total = due.reduce((sum, one) => sum + one.rows, 0);
      expect(total).toBeLessThanOrEqual(122_880);
      rewritten += total;
      left = [...left.slice(0, at), segment(total), ...left.slice(at + due.length)];
    }
    most = Math.max(most, left.length);
  }
  return { left, rewritten, most };
}

describe('the choice of segments to merge', () => {
  test('falls on segments of an earlier format, one by one, when nothing else is due and the dataset is quiet', () => {
    const old = { ...segment(122_880), format: 2 };
    const small = [segment(1), segment(1), segment(1), segment(1)];
    const all = [segment(122_880), old, segment(100_000), { ...old, path: 'b' }, ...small];
    expect(planMerge(all)).toBeUndefined();
    expect(planMerge(all, true)).toEqual(small);
    expect(planMerge(all.slice(0, 4), true)).toEqual([old]);
    expect(planMerge([segment(122_880)], true)).toBeUndefined();
  });

  test('falls on segments of format 3 only if they have texts in lists, which get an index', () => {
    const third = { ...segment(122_880), format: 3 };
    const text = { name: 't', physical: 't', type: 'text', isList: false } as const;
    const listed = { ...text, isList: true };
    const of = (...children: Columns): Columns => [{ ...text, type: 'object', children }];
    const inLists = [[listed], of(listed), [{ ...of(text)[0]!, isList: true }], of(...of(listed))];
    for (const columns of [[], [text], of(text)])
      expect(planMerge([{ ...third, columns }], true)).toBeUndefined();
    for (const columns of inLists) {
      const old = { ...third, columns };
      expect(planMerge([old], true)).toEqual([old]);
      expect(planMerge([{ ...old, format: segmentFormat }], true)).toBeUndefined();
    }
  });

  test('contains neither a few segments nor large ones', () => {
    expect(planMerge([])).toBeUndefined();
    expect(planMerge(Array.from({ length: 15 }, () => segment(1)))).toBeUndefined();
    expect(planMerge(Array.from({ length: 500 }, () => segment(61_440)))).toBeUndefined();
    expect(planMerge(Array.from({ length: 500 }, () => segment(1, 9 << 20)))).toBeUndefined();
    const alternating = Array.from({ length: 100 }, (_, i) => segment(i % 2 === 0 ? 1 : 100_000));
    expect(planMerge(alternating)).toBeUndefined();
  });

  test('contains all of many small segments, up to a full segment', () => {
    const tiny = Array.from({ length: 1_000 }, () => segment(100));
    expect(planMerge(tiny)).toEqual(tiny.slice(0, 256));
    const medium = Array.from({ length: 100 }, () => segment(10_000));
    expect(planMerge(medium)).toEqual(medium.slice(0, 12));
    const behind = [segment(100_000), ...tiny, segment(100_000)];
    expect(planMerge(behind)).toEqual(tiny.slice(0, 256));
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
    const { left, rewritten, most } = committed(sizes);
    expect(left.reduce((sum, one) => sum + one.rows, 0)).toBe(rows);
    const large = left.filter((one) => one.rows >= 61_440).length;
    expect(most).toBeLessThan(64 * (large + 1));
    expect(left.length - large).toBeLessThan(40 * (large + 1));
    expect(rewritten / rows).toBeLessThan(10);
  });

  test('merges a few segments only in quiet times, even after each commit', () => {
    const { left, rewritten, most } = committed(Array.from({ length: 20_000 }, () => 1), true); // prettier-ignore
    expect(left.reduce((sum, one) => sum + one.rows, 0)).toBe(20_000);
    expect(most).toBeLessThan(20);
    expect(left.length).toBeLessThan(20);
    expect(rewritten / 20_000).toBeLessThan(20);
  });
});
