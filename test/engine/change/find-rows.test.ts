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

/** Writes a segment with the records of a commit; with `givenIds`, the column `givenIdColumn` has these values. */
async function writeRecords(rows: number, commit: number, givenIds?: readonly (string | null)[]) {
  const path = join(folder, `${fileCount++}.parquet`);
  const givenColumns = givenIds === undefined ? [] : [givenIdColumn];
  const data = batchOf(
    givenColumns,
    givenIds === undefined ? [] : [givenIds],
    rows,
    BigInt(commit),
  );
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
  const allIds = writtenSegments.flatMap(({ ids }) => ids);
  const wantedIds = Array.from({ length: count }, () =>
    next() < 0.7
      ? allIds[Math.floor(next() * allIds.length)]!
      : `nobody ${Math.floor(next() * 1e6)}`,
  );
  const halfLength = wantedIds.length >> 1;
  const lists = [wantedIds.slice(0, halfLength), wantedIds.slice(halfLength)];
  const sources = await Promise.all(lists.map((list, i) => writeRecords(list.length, 9 + i, list)));
  const segments = writtenSegments.map((segment) => {
    const goneRows = segment.ids.flatMap((_id, row) => (next() < 0.2 ? [row] : []));
    const deletion = goneRows.length > 0 ? deletionVector(Int32Array.from(goneRows)) : undefined;
    return { ...segment, deletion, gone: new Set(goneRows) };
  });
  const foundRows = findRows({ wanted: sources, columns: keyColumns, segments, isUnique: false });
  const wantedIdSet = new Set(wantedIds);
  expect(foundRows.distinctKeyCount).toBe(wantedIdSet.size);
  expect(foundRows.missing).toBeUndefined();
  const firstPlaceOf = (id: string): readonly [number, number] => {
    const at = wantedIds.indexOf(id);
    return at < halfLength ? [0, at] : [1, at - halfLength];
  };
  for (const [i, { ids, gone }] of segments.entries()) {
    const rows = ids.flatMap((id, row) => (wantedIdSet.has(id) && !gone.has(row) ? [row] : []));
    const foundSegment = foundRows.segments[i]!;
    expect([...foundSegment.rows]).toEqual(rows);
    expect([...foundSegment.rowIds]).toEqual(rows.map((row) => 100 + row));
    const expectedIndices = rows.map((row) => firstPlaceOf(ids[row]!));
    expect([...foundSegment.files].map((file, at) => [file, foundSegment.given[at]])).toEqual(
      expectedIndices,
    );
  }
});

test('a segment without records is not read', async () => {
  const segment = await writeRecords(3, 1);
  const wantedSegment = await writeRecords(1, 2, [segment.ids[1]!]);
  const deletion = deletionVector(Int32Array.of(0, 1, 2));
  const segments = [{ ...segment, path: `${segment.path}.missing`, deletion }];
  const foundRows = findRows({
    wanted: [wantedSegment],
    columns: keyColumns,
    segments,
    isUnique: false,
  });
  expect(foundRows).toMatchObject({ distinctKeyCount: 1, segments: [{ rows: Int32Array.of() }] });
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
  const allIds = writtenSegments.flatMap(({ ids }) => ids);
  const changedId = (id: string): string => {
    const at = Math.floor(next() * id.length);
    return id.slice(0, at) + someId(['0', 'z', 'Z', '', ' ', '00']) + id.slice(at + 1);
  };
  const wantedIds = Array.from({ length: 3_000 }, () => (next() < 0.6 ? someId(allIds) : changedId(someId(allIds)))); // prettier-ignore
  const source = await writeRecords(wantedIds.length, 9, wantedIds);
  const search = { wanted: [source], columns: keyColumns, isUnique: false };
  const foundByReading = findRows({
    ...search,
    segments: writtenSegments.map((one) => ({ ...one, idRuns: undefined })),
  });
  expect(findRows({ ...search, segments: writtenSegments })).toEqual(foundByReading);
  expect(foundByReading.segments.some(({ rows }) => rows.length > 500)).toBe(true);
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
      const storedRowIds = chunk === 1 ? rowIdsOf(rows) : undefined;
      const path = join(folder, `${fileCount++}.parquet`);
      const { blockChecksums } = await writeSegment(
        {
          columns: storedRowIds ? [rowIdColumn] : [],
          data: batchOf(
            storedRowIds ? [rowIdColumn] : [],
            storedRowIds ? [storedRowIds.map(BigInt)] : [],
            rows,
            1n,
          ),
          rows,
        },
        path,
      );
      const goneRows = Int32Array.from(ids.keys()).filter(() => next() < 0.2);
      const deletion = deletionVector(goneRows);
      const half = rows >> 1;
      // The segment has the second half of the chunk's records, followed by the first half.
      const idRuns = [
        { firstId: ids[half]!, rows: rows - half },
        { firstId: ids[0]!, rows: half },
      ];
      const idsByRow = [...ids.slice(half), ...ids.slice(0, half)];
      const baseRowId = storedRowIds ? undefined : 10_000 * (3 - chunk);
      const gone = new Set(goneRows);
      return { path, blockChecksums, deletion, bounds: undefined, rows, idRuns, baseRowId, idsByRow, storedRowIds, gone }; // prettier-ignore
    }),
  );
  const records = segments.flatMap(({ idsByRow, gone, storedRowIds, baseRowId }, segment) =>
    idsByRow.flatMap((id, row) =>
      gone.has(row) ? [] : [{ id, segment, row, rowId: storedRowIds?.[row] ?? baseRowId! + row }],
    ),
  );
  const locate = (ids: readonly (string | null)[]) =>
    locateRecordsById(
      batchOf([givenIdColumn], [[...ids]], ids.length, 1n).getChildAt(2)!.data[0]!,
      segments,
    );
  const wantedRecords = shuffled(next, records).slice(0, 1_000);
  const { given, rowIds, segments: foundSegments } = locate(wantedRecords.map(({ id }) => id))!;
  const entriesByRowId = [...wantedRecords.entries()].sort(([, a], [, b]) => a.rowId - b.rowId);
  expect([...rowIds]).toEqual(entriesByRowId.map(([, { rowId }]) => rowId));
  expect(Array.from(given, (i) => wantedRecords[i]!.rowId)).toEqual([...rowIds]);
  for (const [segmentIndex, { rows, given: givenIndices }] of foundSegments.entries()) {
    const expectedEntries = [...wantedRecords.entries()].filter(
      ([, { segment }]) => segment === segmentIndex,
    );
    expectedEntries.sort(([, a], [, b]) => a.row - b.row);
    expect([...rows]).toEqual(expectedEntries.map(([, { row }]) => row));
    expect([...givenIndices]).toEqual(expectedEntries.map(([i]) => i));
  }
  const goneId = segments[0]!.idsByRow.find((_, row) => segments[0]!.gone.has(row))!;
  const fewIds = wantedRecords.slice(0, 3).map(({ id }) => id);
  for (const other of [fewIds[0]!, goneId, 'nobody', '', null, `${fewIds[0]!.slice(0, -5)}zzzzz`])
    expect([other, locate([...fewIds, other])]).toEqual([other, undefined]);
  expect(locate(fewIds)).toBeDefined();
});

test.each([
  ['known to the log', (rows: number) => [{ firstId: firstRecordId(481_300_000, 0), rows }]],
  ['read', () => undefined],
])(
  'the first record with the _id of an earlier one is named where the _ids are %s',
  async (_, idRunsOf) => {
    const builder = new BatchBuilder();
    for (let row = 0; row < 50; row++) builder.endRecord();
    const identifiedBatch = withRecordIds(builder.finish(), 481_300_000, 0);
    const path = join(folder, `${fileCount++}.parquet`);
    const { blockChecksums } = await writeSegment(identifiedBatch, path);
    const ids = Array.from(identifiedBatch.data.getChild('_id')!, String);
    identifiedBatch.release();
    const deletion = deletionVector(Int32Array.of(7));
    const storedSegment = { path, blockChecksums, deletion, bounds: undefined, rows: 50, baseRowId: 0, idRuns: idRunsOf(50) }; // prettier-ignore
    const findRepeated = async (...lists: readonly (readonly string[])[]) => {
      const wantedSegments = await Promise.all(
        lists.map((list, i) => writeRecords(list.length, 20 + i, list)),
      );
      const search = { wanted: wantedSegments, columns: keyColumns, segments: [storedSegment] };
      expect(findRows({ ...search, isUnique: false }).repeated).toBeUndefined();
      return findRows({ ...search, isUnique: true }).repeated;
    };
    expect(await findRepeated(ids.slice(0, 20), ids.slice(20))).toBeUndefined();
    expect(await findRepeated([ids[9]!, ids[3]!], [ids[4]!, ids[3]!, ids[9]!])).toEqual([[0, 1], [1, 1]]); // prettier-ignore
    expect(await findRepeated([ids[7]!, ids[8]!, ids[7]!])).toEqual([[0, 0], [0, 2]]); // prettier-ignore
    expect(await findRepeated([ids[1]!, 'nobody'], ['nobody'])).toEqual([[0, 1], [1, 0]]); // prettier-ignore
  },
);

test('the first record without an id is named', async () => {
  const wholeSegment = await writeRecords(2, 1, ['a', 'b']);
  const segmentWithNulls = await writeRecords(3, 2, ['c', null, null]);
  const { missing, distinctKeyCount } = findRows({ wanted: [wholeSegment, segmentWithNulls], columns: keyColumns, segments: [], isUnique: false }); // prettier-ignore
  expect([missing, distinctKeyCount]).toEqual([[1, 1], 3]);
  const segmentWithoutIds = await writeRecords(2, 3);
  expect(
    findRows({ wanted: [segmentWithoutIds], columns: keyColumns, segments: [], isUnique: false })
      .missing,
  ).toEqual([0, 0]);
});
