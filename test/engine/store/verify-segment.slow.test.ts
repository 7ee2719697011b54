import { createHash } from 'node:crypto';
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { armFault } from '../../../engine/core/faultpoint.js';
import type { Column, Columns, Value } from '../../../engine/core/types.js';
import { deletionVector } from '../../../engine/store/deletion-vector.js';
import { deltaStats, parseLeafStats } from '../../../engine/store/delta-stats.js';
import { mergeSegments } from '../../../engine/store/merge-segments.js';
import type { LeafStats, Segment } from '../../../engine/store/store.js';
import { findSegmentProblems } from '../../../engine/store/verify-segment.js';
import { seed } from '../../seed.js';
import { batchOf, random, randomColumns, randomDistribution, randomValue } from './random.js';
import { writeSegment } from './write-segment.js';

let folder: string;
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'strandlake-segment-')));
});
afterAll(() => rm(folder, { recursive: true }));

interface WrittenSegment {
  readonly file: string;
  readonly segment: Segment;
}

let fileCount = 0;
async function writeRecords(
  columns: Columns,
  values: readonly (readonly Value[])[],
): Promise<WrittenSegment> {
  const file = join(folder, `${fileCount++}.parquet`);
  const rows = values[0]!.length;
  const data = batchOf(columns, values, rows, 1n);
  return { file, segment: segmentAsLogged(await writeSegment({ columns, data, rows }, file)) };
}

/** Returns a segment as the log describes it. */
function segmentAsLogged(segment: Segment): Segment {
  return { ...segment, ...parseLeafStats(deltaStats(segment), segment.columns) };
}

const columnOf = (name: string, type: Column['type'], more: Partial<Column> = {}): Column => ({
  name,
  physical: name,
  type,
  isList: false,
  ...more,
});

test(`random segments, and those merged from them, have no problems (STRANDLAKE_SEED=${seed})`, async () => {
  for (let round = 0; round < 60; round++) {
    const next = random(seed + round);
    const columns = randomColumns(next, 6, 3);
    const sources: WrittenSegment[] = [];
    for (let i = 0; i < 2; i++) {
      const rows = 1 + Math.floor(next() * 300);
      const values = columns.map((one) => {
        const style = randomDistribution(next);
        return Array.from({ length: rows }, (_, row) => randomValue(next, one, style, row));
      });
      const { file, segment } = await writeRecords(columns, values);
      const goneRows = Array.from({ length: rows }, (_, row) => row).filter(() => next() < 0.2);
      const deletion = goneRows.length > 0 && goneRows.length < rows ? deletionVector(Int32Array.from(goneRows)) : undefined; // prettier-ignore
      sources.push({ file, segment: { ...segment, deletion } });
      expect([round, await findSegmentProblems(file, sources[i]!.segment)]).toEqual([round, []]);
    }
    const file = join(folder, `${fileCount++}.parquet`);
    const mergedSegment = await mergeSegments(sources, columns, file, next() < 0.5);
    expect([round, await findSegmentProblems(file, segmentAsLogged(mergedSegment))]).toEqual([
      round,
      [],
    ]);
  }
});

test('a file that cannot be opened, at whichever of its readings, is a problem of the segment', async () => {
  const { file, segment } = await writeRecords([columnOf('s', 'string')], [['a', 'b']]);
  for (const nth of [1, 2, 3]) {
    armFault({ code: 'EIO', nth, operations: ['open'] });
    try {
      const problems = await findSegmentProblems(file, segment);
      expect([nth, problems]).toEqual([nth, [expect.stringContaining('EIO')]]);
    } finally {
      armFault(undefined);
    }
  }
});

describe('of a segment with every kind of column', () => {
  const columns: Columns = [
    columnOf('i', 'integer'),
    columnOf('l', 'long'),
    columnOf('f', 'float'),
    columnOf('d', 'double'),
    columnOf('s', 'string'),
    columnOf('t', 'date'),
    columnOf('b', 'boolean'),
    columnOf('list', 'string', { isList: true }),
    columnOf('o', 'object', { children: [columnOf('in', 'long', { isList: true }), columnOf('s', 'string')] }), // prettier-ignore
  ];
  const longText = 'x'.repeat(40);
  const values: readonly (readonly Value[])[] = [
    [1, 5, null, 9],
    [-3n, 2n ** 60n, null, null],
    [0.1, 0.5, 1.5, null],
    [-0.5, 2.5, 1e300, 0],
    ['a', longText, 'é', null],
    [1_600_000_000_000_001n, 1_700_000_000_000_999n, null, 1_650_000_000_000_000n],
    [true, false, null, null],
    [null, [], ['a', null], ['b', 'c']],
    [null, { in: null, s: 'p' }, { in: [1n, 2n], s: null }, { in: [], s: 'q' }],
  ];
  const forgedStats: readonly (readonly [string, string, Partial<LeafStats>])[] = [
    ['a number of nulls', 'i', { nulls: 0 }],
    ['a number of null lists', 'list', { nulls: 2 }],
    ['a number of null lists in an object', 'o.in', { nulls: 1 }],
    ['a number of nulls in an object', 'o.s', { nulls: 3 }],
    ['nulls of a reserved column', '_id', { nulls: 1 }],
    ['a lower bound', 'i', { min: 2 }],
    ['an upper bound', 'i', { max: 8 }],
    ['an upper bound of a long', 'l', { max: String(2n ** 60n - 1n) }],
    ['a lower bound of a long', 'l', { min: -2 }],
    ['a lower bound of a float', 'f', { min: 0.2 }],
    ['an upper bound of a double', 'd', { max: 1e299 }],
    ['an upper bound of a string', 's', { max: 'y' }],
    ['a lower bound of a string', 's', { min: 'b' }],
    ['a lower bound of a date', 't', { min: '2020-09-13T12:26:40.001Z' }],
    ['an upper bound of a date', 't', { max: '2023-11-14T22:13:20.000Z' }],
    ['a bound of another type', 'd', { min: 'a' }],
    ['bounds of a date that are numbers', 't', { min: 0, max: 1e15 }],
  ];

  test('that is whole there are none', async () => {
    const { file, segment } = await writeRecords(columns, values);
    expect(segment.stats['s']).toMatchObject({ nulls: 1, min: 'a' });
    expect(segment.stats['o.in']).toEqual({ nulls: 2 });
    expect(await findSegmentProblems(file, segment)).toEqual([]);
  });

  test.each(forgedStats)('%s that the log gives wrongly is named', async (_, key, change) => {
    const { file, segment } = await writeRecords(columns, values);
    const stats = { ...segment.stats, [key]: { ...segment.stats[key]!, ...change } };
    const statsProblem = expect.stringMatching(
      new RegExp(` (nulls in|values of) column ${key}[ ,]`),
    );
    expect(await findSegmentProblems(file, { ...segment, stats })).toEqual([statsProblem]);
  });

  test('bounds that are wider than the values are no problem', async () => {
    const { file, segment } = await writeRecords(columns, values);
    const { i, s } = segment.stats;
    const stats = { ...segment.stats, i: { ...i!, min: -7, max: 70 }, s: { ...s!, min: '', max: '\u{10FFFF}' } }; // prettier-ignore
    expect(await findSegmentProblems(file, { ...segment, stats })).toEqual([]);
  });

  test('NaN is outside any bounds', async () => {
    const { file, segment } = await writeRecords([columnOf('d', 'double')], [[1, NaN]]);
    expect(await findSegmentProblems(file, segment)).toEqual([]);
    const stats = { ...segment.stats, d: { nulls: 0, min: 0, max: 2 } };
    expect(await findSegmentProblems(file, { ...segment, stats })).toEqual([expect.stringContaining('column d outside')]); // prettier-ignore
  });

  test.each<[string, (segment: Segment) => Partial<Segment>, RegExp]>([
    ['another number of rows', () => ({ rows: 5 }), /^has 4 rows, the log says 5$/],
    ['another size', ({ bytes }) => ({ bytes: bytes + 1 }), /^has \d+ bytes, should be \d+$/],
    ['another checksum', () => ({ checksum: '0'.repeat(64) }), /^does not match its checksum$/],
    ['other checksums of blocks', () => ({ blockChecksums: 'AAAAAA==' }), /^does not match the checksums of its blocks$/],
    ['deleted rows beyond the end', () => ({ deletion: deletionVector(Int32Array.of(1, 4)) }), /deletes row 4$/],
    ['deleted rows that cannot be decoded', () => ({ deletion: { encoded: '0000000000', bytes: 8, rows: 1 } }), /deletion vector/],
    ['columns of other types', () => ({ columns: [columnOf('i', 'string'), ...columns.slice(1)] }), /column i that cannot be read/],
    ['columns in another order', () => ({ columns: columns.toReversed() }), /another column is in its place/],
  ])('%s in the log is named', async (_, change, expected) => {
    const { file, segment } = await writeRecords(columns, values);
    const [firstProblem] = await findSegmentProblems(file, { ...segment, ...change(segment) });
    expect(firstProblem).toMatch(expected);
  }); // prettier-ignore

  test('there are at most eleven, the last of which counts the others', async () => {
    const manyColumns = Array.from({ length: 30 }, (_, i) => columnOf(`c${i}`, 'long'));
    const { file, segment } = await writeRecords(manyColumns, manyColumns.map(() => [1n])); // prettier-ignore
    const stats = Object.fromEntries(Object.keys(segment.stats).map((key) => [key, { nulls: 1 }]));
    const problems = await findSegmentProblems(file, { ...segment, stats });
    expect(problems).toHaveLength(11);
    expect(problems.at(-1)).toBe('has 22 more problems');
  });

  test('a file whose footer is unreadable is named, though its checksum is right', async () => {
    const { file, segment } = await writeRecords(columns, values);
    const bytes = await readFile(file);
    bytes.write('XXXX', bytes.length - 4);
    await writeFile(file, bytes);
    const checksum = createHash('sha256').update(bytes).digest('hex');
    const problems = await findSegmentProblems(file, { ...segment, checksum, blockChecksums: undefined }); // prettier-ignore
    expect(problems).toEqual([expect.stringMatching(/footer|Parquet/)]);
  });
});
