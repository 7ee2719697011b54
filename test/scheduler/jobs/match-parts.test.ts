import { expect, test } from '@jest/globals';
import type { RowMatches } from '../../../engine/change/replace-rows.js';
import type { ChecksummedFile } from '../../../engine/core/block-checksums.js';
import { averageRecordSizes, divideMatches } from '../../../scheduler/jobs/change/match-parts.js';
import type { ThreadPool } from '../../../scheduler/jobs/thread-pool.js';
import { seededRandom, shuffled } from '../../random.js';
import { seed } from '../../seed.js';

const maxPartBytes = 64 << 20;

test.each([
  ['row ids', false],
  ['given records', true],
])(
  `wide records are divided by their size, in the order of their %s (STRANDLAKE_SEED=${seed})`,
  (_, isWhole) => {
    const next = seededRandom(seed);
    // About 64 records of the third file fill a part, and each record of the last file is larger than a part may be.
    const sizes = {
      given: Float64Array.of(100, 20_000, 1 << 20, 100 << 20),
      stored: Float64Array.of(0, 50_000),
    };
    const rowsOfFiles = [8_000, 1_500, 500, 3];
    const givenFiles = rowsOfFiles.map((rows) => ({ rows }));
    const records = rowsOfFiles.flatMap((rows, file) => Array.from({ length: rows }, (_, row) => [file, row] as const)); // prettier-ignore
    const matchedRecords = shuffled(next, records);
    const matches: RowMatches = {
      files: Int32Array.from(matchedRecords, ([file]) => file),
      given: Int32Array.from(matchedRecords, ([, row]) => row),
      segments: Int32Array.from(matchedRecords, () => (next() < 0.9 ? 0 : 1)),
      rows: Int32Array.from(matchedRecords.keys()),
      rowIds: Float64Array.from(matchedRecords.keys(), (i) => 3 * i),
    };
    const parts = divideMatches(matches, givenFiles, 1, isWhole, sizes);
    // Each match is in one part, with its values, and the rows of a part ascend.
    const foundMatches = parts.flatMap((part) =>
      Array.from(part.rowIds, (rowId, at) => ({
        rowId,
        match: [part.files[at], part.given[at], part.segments[at], part.rows[at]],
      })),
    );
    const orderedMatches = foundMatches.toSorted((a, b) => a.rowId - b.rowId);
    expect(orderedMatches.map(({ rowId }) => rowId)).toEqual([...matches.rowIds]);
    const expectedMatches = matchedRecords.map(([file, row], i) => [
      file,
      row,
      matches.segments[i],
      i,
    ]);
    expect(orderedMatches.map(({ match }) => match)).toEqual(expectedMatches);
    for (const { rowIds } of parts) expect([...rowIds]).toEqual([...rowIds].toSorted((a, b) => a - b)); // prettier-ignore
    // The parts follow each other in the order.
    const positions = parts.map((part) =>
      Array.from(part.rowIds, (rowId, at) =>
        isWhole ? part.files[at]! * 10_000 + part.given[at]! : rowId,
      ),
    );
    for (const [k, ownPositions] of positions.entries())
      if (k > 0) expect(Math.min(...ownPositions)).toBeGreaterThan(Math.max(...positions[k - 1]!));
    // No part of several records is too large, and no two neighbours would fit into one.
    const sizeOf = (file: number, segment: number): number =>
      sizes.given[file]! + sizes.stored[segment]!;
    const bytes = parts.map(({ files, segments }) =>
      files.reduce((sum, file, at) => sum + sizeOf(file, segments[at]!), 0),
    );
    for (const [k, { rowIds }] of parts.entries())
      expect(rowIds.length === 1 || bytes[k]! <= maxPartBytes).toBe(true);
    for (const [k, ownBytes] of bytes.entries())
      if (k > 0) expect(bytes[k - 1]! + ownBytes).toBeGreaterThan(maxPartBytes);
    expect(parts.length).toBeGreaterThan(3);
  },
);

test('narrow records are divided by their number alone, so that all threads have work', () => {
  const count = 40_000;
  const numbers = Int32Array.from({ length: count }, (_, i) => i);
  const matches: RowMatches = {
    files: new Int32Array(count),
    given: numbers,
    segments: new Int32Array(count),
    rows: numbers,
    rowIds: Float64Array.from(numbers),
  };
  const sizes = { given: Float64Array.of(100), stored: Float64Array.of(200) };
  const parts = divideMatches(matches, [{ rows: count }], 4, false, sizes);
  expect(parts.map(({ rowIds }) => [rowIds[0], rowIds.length])).toEqual([
    [0, 13_334],
    [13_334, 13_334],
    [26_668, 13_332],
  ]);
});

test('the threads read the footers of the files with matches at the same time, each file once', async () => {
  const files = Array.from({ length: 50 }, (_, i) => ({ path: String(i), columns: [] }));
  const hasMatch = (file: number): boolean => file % 4 === 0 && file < 40;
  const numbers = Int32Array.from({ length: 500 }, (_, i) => 4 * (i % 10));
  const shares: (readonly ChecksummedFile[])[] = [];
  let [runningCount, maxRunning] = [0, 0];
  const run = async (_kind: string, job: () => readonly ChecksummedFile[]) => {
    shares.push(job());
    maxRunning = Math.max(maxRunning, ++runningCount);
    await new Promise(setImmediate);
    runningCount--;
    return Float64Array.from(job(), ({ path }) => 100 + Number(path));
  };
  const pool = { threads: 4, run } as unknown as ThreadPool;
  const { signal } = new AbortController();
  const sizes = await averageRecordSizes(files, numbers, { pool, signal });
  expect([...sizes]).toEqual(files.map((_, i) => (hasMatch(i) ? 100 + i : 0)));
  expect(maxRunning).toBe(4);
  expect(shares.map((share) => share.length)).toEqual([3, 3, 2, 2]);
  // The columns of the files, of which there may be thousands, are not sent to the threads.
  expect(shares.flat().every((file) => !('columns' in file))).toBe(true);
});

test.each<[number, readonly string[]]>([
  [16, []],
  [17, ['0']],
])('for %i matches, the footers of the files %j are read', async (count, expectedPaths) => {
  const readPaths: string[] = [];
  const run = async (_kind: string, job: () => readonly ChecksummedFile[]) => {
    readPaths.push(...job().map(({ path }) => path));
    return Float64Array.of(1_000);
  };
  const pool = { threads: 2, run } as unknown as ThreadPool;
  const { signal } = new AbortController();
  const files = [{ path: '0' }, { path: '1' }];
  const sizes = await averageRecordSizes(files, new Int32Array(count), { pool, signal });
  expect([readPaths, [...sizes]]).toEqual([expectedPaths, [1_000 * expectedPaths.length, 0]]);
});
