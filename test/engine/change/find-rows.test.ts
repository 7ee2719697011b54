import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { findRows, locateRecordsById } from '../../../engine/change/find-rows.js';
import type { KeyColumn } from '../../../engine/change/row-keys.js';
import { BatchBuilder } from '../../../engine/ingest/batch.js';
import { firstRecordId, withRecordIds } from '../../../engine/ingest/record-ids.js';
import { deletionVector } from '../../../engine/store/deletion-vector.js';
import type { Column } from '../../../engine/core/types.js';
import { rowIdColumn } from '../../../engine/store/row-ids.js';
import { seededRandom, shuffled } from '../../random.js';
import { seed } from '../../seed.js';
import { batchOf } from '../store/random.js';
import { writeSegment } from '../store/write-segment.js';

const folder = mkdtempSync(join(tmpdir(), 'strandlake-ids-'));
afterAll(() => rmSync(folder, { recursive: true }));

const givenIdColumn: Column = { name: '_id', physical: 'given_id', type: 'string', isList: false };
const keyColumns: readonly KeyColumn[] = [{ given: ['given_id'], stored: ['_id'], type: 'string' }];
let fileCount = 0;

/** Writes a segment with the records of a commit; with `strings`, the column `givenIdColumn` has these values. */
async function writeRecords(rows: number, commit: number, strings?: readonly (string | null)[]) {
  const path = join(folder, `${fileCount++}.parquet`);
  const givenColumns = strings === undefined ? [] : [givenIdColumn];
  const data = batchOf(givenColumns, strings === undefined ? [] : [strings], rows, BigInt(commit));
  const { stats, blockChecksums } = await writeSegment({ columns: givenColumns, data, rows }, path);
  const { min, max } = stats['_id']!;
  const ids = Array.from(data.getChild('_id')!, String);
  return {
    path,
    blockChecksums,
    ids,
    bounds: [String(min), String(max)] as const,
    baseRowId: 100,
    rows,
  };
}

test.each([
  ['few', 30],
  ['many', 12_000],
])(`%s ids are found where a loop finds them (STRANDLAKE_SEED=${seed})`, async (_, count) => {
  const next = seededRandom(seed);
  const writtenSegments = [
    await writeRecords(3_000, 1),
    await writeRecords(1, 2),
    await writeRecords(9_000, 5),
  ];
  const all = writtenSegments.flatMap(({ ids }) => ids);
  const wantedIds = Array.from({ length: count }, () =>
    next() < 0.7 ? all[Math.floor(next() * all.length)]! : `nobody ${Math.floor(next() * 1e6)}`,
  );
  const halfLength = wantedIds.length >> 1;
  const lists = [wantedIds.slice(0, halfLength), wantedIds.slice(halfLength)];
  const sources = await Promise.all(lists.map((list, i) => writeRecords(list.length, 9 + i, list)));
  const segments = writtenSegments.map((segment) => {
    const goneRows = segment.ids.flatMap((_id, row) => (next() < 0.2 ? [row] : []));
    const deletion = goneRows.length > 0 ? deletionVector(Int32Array.from(goneRows)) : undefined;
    return { ...segment, deletion, gone: new Set(goneRows) };
  });
  const found = findRows({ wanted: sources, columns: keyColumns, segments, isUnique: false });
  const set = new Set(wantedIds);
  expect(found.distinct).toBe(set.size);
  expect(found.missing).toBeUndefined();
  const firstWith = (id: string): readonly [number, number] => {
    const at = wantedIds.indexOf(id);
    return at < halfLength ? [0, at] : [1, at - halfLength];
  };
  for (const [i, { ids, gone }] of segments.entries()) {
    const rows = ids.flatMap((id, row) => (set.has(id) && !gone.has(row) ? [row] : []));
    const foundSegment = found.segments[i]!;
    expect([...foundSegment.rows]).toEqual(rows);
    expect([...foundSegment.rowIds]).toEqual(rows.map((row) => 100 + row));
    const expectedIndices = rows.map((row) => firstWith(ids[row]!));
    expect([...foundSegment.files].map((file, at) => [file, foundSegment.given[at]])).toEqual(
      expectedIndices,
    );
  }
});

test('a segment without records is not read', async () => {
  const segment = await writeRecords(3, 1);
  const wanted = await writeRecords(1, 2, [segment.ids[1]!]);
  const deletion = deletionVector(Int32Array.of(0, 1, 2));
  const segments = [{ ...segment, path: `${segment.path}.missing`, deletion }];
  const found = findRows({ wanted: [wanted], columns: keyColumns, segments, isUnique: false });
  expect(found).toMatchObject({ distinct: 1, segments: [{ rows: Int32Array.of() }] });
});

test(`rows are found by the form of their ids as by reading them (STRANDLAKE_SEED=${seed})`, async () => {
  const next = seededRandom(seed);
  const someId = (ids: readonly string[]): string => ids[Math.floor(next() * ids.length)]!;
  const writtenSegments = await Promise.all(
    [2_000, 300, 1].map(async (rows, chunk) => {
      const builder = new BatchBuilder();
      for (let row = 0; row < rows; row++) builder.endRecord();
      const identifiedBatch = withRecordIds(builder.finish(), 481_200_000, chunk);
      const path = join(folder, `${fileCount++}.parquet`);
      const { blockChecksums } = await writeSegment(identifiedBatch, path);
      const ids = Array.from(identifiedBatch.data.getChild('_id')!, String);
      identifiedBatch.release();
      const goneRows = Int32Array.from(ids.keys()).filter(() => next() < 0.2);
      const deletion = goneRows.length > 0 ? deletionVector(goneRows) : undefined;
      const idRuns = [{ firstId: firstRecordId(481_200_000, chunk), rows }];
      const placedIds = { idRuns, baseRowId: 7 * chunk };
      return { path, blockChecksums, ids, deletion, bounds: undefined, rows, ...placedIds };
    }),
  );
  const all = writtenSegments.flatMap(({ ids }) => ids);
  const changedId = (id: string): string => {
    const at = Math.floor(next() * id.length);
    return id.slice(0, at) + someId(['0', 'z', 'Z', '', ' ', '00']) + id.slice(at + 1);
  };
  const wantedIds = Array.from({ length: 3_000 }, () => (next() < 0.6 ? someId(all) : changedId(someId(all)))); // prettier-ignore
  const source = await writeRecords(wantedIds.length, 9, wantedIds);
  const search = { wanted: [source], columns: keyColumns, isUnique: false };
  const read = findRows({
    ...search,
    segments: writtenSegments.map((one) => ({ ...one, idRuns: undefined })),
  });
  expect(findRows({ ...search, segments: writtenSegments })).toEqual(read);
  expect(read.segments.some(({ rows }) => rows.length > 500)).toBe(true);
});

test(`records of a batch are placed as a loop over the segments places them (STRANDLAKE_SEED=${seed})`, async () => {
  const next = seededRandom(seed);
  const rowIdsOf = (rows: number): number[] => Array.from({ length: rows }, () => Math.floor(next() * 2 ** 40)); // prettier-ignore
  const segments = await Promise.all(
    [2_000, 300, 40].map(async (rows, chunk) => {
      const builder = new BatchBuilder();
      for (let row = 0; row < rows; row++) builder.endRecord();
      const batch = builder.finish();
      const identifiedBatch = withRecordIds(batch, 481_400_000, chunk);
      const ids = Array.from(identifiedBatch.data.getChild('_id')!, String);
      identifiedBatch.release();
      // One segment stores its row ids, which are in random order.
      const stored = chunk === 1 ? rowIdsOf(rows) : undefined;
      const path = join(folder, `${fileCount++}.parquet`);
      const { blockChecksums } = await writeSegment(
        {
          columns: stored ? [rowIdColumn] : [],
          data: batchOf(stored ? [rowIdColumn] : [], stored ? [stored.map(BigInt)] : [], rows, 1n),
          rows,
        },
        path,
      );
      const goneRows = Int32Array.from(ids.keys()).filter(() => next() < 0.2);
      const deletion = deletionVector(goneRows);
      const half = rows >> 1;
      // The chunk consists of the second half of the segment's rows, followed by the first half.
      const idRuns = [
        { firstId: ids[half]!, rows: rows - half },
        { firstId: ids[0]!, rows: half },
      ];
      const own = [...ids.slice(half), ...ids.slice(0, half)];
      const baseRowId = stored ? undefined : 10_000 * (3 - chunk);
      return { path, blockChecksums, deletion, bounds: undefined, rows, idRuns, baseRowId, own, stored, gone: new Set(goneRows) }; // prettier-ignore
    }),
  );
  const records = segments.flatMap(({ own, gone, stored, baseRowId }, segment) =>
    own.flatMap((id, row) =>
      gone.has(row) ? [] : [{ id, segment, row, rowId: stored?.[row] ?? baseRowId! + row }],
    ),
  );
  const place = (ids: readonly (string | null)[]) =>
    locateRecordsById(
      batchOf([givenIdColumn], [[...ids]], ids.length, 1n).getChildAt(2)!.data[0]!,
      segments,
    );
  const wanted = shuffled(next, records).slice(0, 1_000);
  const { given, rowIds, segments: found } = place(wanted.map(({ id }) => id))!;
  const inOrder = [...wanted.entries()].sort(([, a], [, b]) => a.rowId - b.rowId);
  expect([...rowIds]).toEqual(inOrder.map(([, { rowId }]) => rowId));
  expect(Array.from(given, (i) => wanted[i]!.rowId)).toEqual([...rowIds]);
  for (const [number, { rows, given: strings }] of found.entries()) {
    const own = [...wanted.entries()].filter(([, { segment }]) => segment === number);
    own.sort(([, a], [, b]) => a.row - b.row);
    expect([...rows]).toEqual(own.map(([, { row }]) => row));
    expect([...strings]).toEqual(own.map(([i]) => i));
  }
  const goneId = segments[0]!.own.find((_, row) => segments[0]!.gone.has(row))!;
  const few = wanted.slice(0, 3).map(({ id }) => id);
  for (const other of [few[0]!, goneId, 'nobody', '', null, `${few[0]!.slice(0, -5)}zzzzz`])
    expect([other, place([...few, other])]).toEqual([other, undefined]);
  expect(place(few)).toBeDefined();
});

test.each([
  ['known to the log', (rows: number) => [{ firstId: firstRecordId(481_300_000, 0), rows }]],
  ['read', () => undefined],
])(
  'the first record with the _id of an earlier one is named where the _ids are %s',
  async (_, runs) => {
    const builder = new BatchBuilder();
    for (let row = 0; row < 50; row++) builder.endRecord();
    const identifiedBatch = withRecordIds(builder.finish(), 481_300_000, 0);
    const path = join(folder, `${fileCount++}.parquet`);
    const { blockChecksums } = await writeSegment(identifiedBatch, path);
    const ids = Array.from(identifiedBatch.data.getChild('_id')!, String);
    identifiedBatch.release();
    const deletion = deletionVector(Int32Array.of(7));
    const stored = { path, blockChecksums, deletion, bounds: undefined, rows: 50, baseRowId: 0, idRuns: runs(50) }; // prettier-ignore
    const repeatedIn = async (...lists: readonly (readonly string[])[]) => {
      const wantedSegments = await Promise.all(
        lists.map((list, i) => writeRecords(list.length, 20 + i, list)),
      );
      const search = { wanted: wantedSegments, columns: keyColumns, segments: [stored] };
      expect(findRows({ ...search, isUnique: false }).repeated).toBeUndefined();
      return findRows({ ...search, isUnique: true }).repeated;
    };
    expect(await repeatedIn(ids.slice(0, 20), ids.slice(20))).toBeUndefined();
    expect(await repeatedIn([ids[9]!, ids[3]!], [ids[4]!, ids[3]!, ids[9]!])).toEqual([[0, 1], [1, 1]]); // prettier-ignore
    expect(await repeatedIn([ids[7]!, ids[8]!, ids[7]!])).toEqual([[0, 0], [0, 2]]); // prettier-ignore
    expect(await repeatedIn([ids[1]!, 'nobody'], ['nobody'])).toEqual([[0, 1], [1, 0]]); // prettier-ignore
  },
);

test('the first record without an id is named', async () => {
  const wholeSegment = await writeRecords(2, 1, ['a', 'b']);
  const holed = await writeRecords(3, 2, ['c', null, null]);
  const { missing, distinct } = findRows({ wanted: [wholeSegment, holed], columns: keyColumns, segments: [], isUnique: false }); // prettier-ignore
  expect([missing, distinct]).toEqual([[1, 1], 3]);
  const withoutIds = await writeRecords(2, 3);
  expect(
    findRows({ wanted: [withoutIds], columns: keyColumns, segments: [], isUnique: false }).missing,
  ).toEqual([0, 0]);
});
