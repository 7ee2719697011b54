import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { findRows } from '../../../engine/change/find-rows.js';
import { BatchBuilder } from '../../../engine/ingest/batch.js';
import { firstRecordId, withRecordIds } from '../../../engine/ingest/record-ids.js';
import { deletionVector } from '../../../engine/store/deletion-vector.js';
import type { Column } from '../../../engine/core/types.js';
import { random } from '../../random.js';
import { seed } from '../../seed.js';
import { batchOf } from '../store/random.js';
import { writeSegment } from '../store/write-segment.js';

const folder = mkdtempSync(join(tmpdir(), 'strandlake-ids-'));
afterAll(() => rmSync(folder, { recursive: true }));

const given: Column = { name: '_id', physical: 'given_id', type: 'string', isList: false };
const columns = [{ given: ['given_id'], stored: ['_id'] }];
let files = 0;

/** A segment of the records of a commit, or of these strings beside their own ids. */
async function written(rows: number, commit: number, strings?: readonly (string | null)[]) {
  const path = join(folder, `${files++}.parquet`);
  const own = strings === undefined ? [] : [given];
  const data = batchOf(own, strings === undefined ? [] : [strings], rows, BigInt(commit));
  const { stats, blockChecksums } = await writeSegment({ columns: own, data, rows }, path);
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
  const next = random(seed);
  const made = [await written(3_000, 1), await written(1, 2), await written(9_000, 5)];
  const all = made.flatMap(({ ids }) => ids);
  const wanted = Array.from({ length: count }, () =>
    next() < 0.7 ? all[Math.floor(next() * all.length)]! : `nobody ${Math.floor(next() * 1e6)}`,
  );
  const half = wanted.length >> 1;
  const lists = [wanted.slice(0, half), wanted.slice(half)];
  const sources = await Promise.all(lists.map((list, i) => written(list.length, 9 + i, list)));
  const segments = made.map((segment) => {
    const gone = segment.ids.flatMap((_id, row) => (next() < 0.2 ? [row] : []));
    const deletion = gone.length > 0 ? deletionVector(Int32Array.from(gone)) : undefined;
    return { ...segment, deletion, gone: new Set(gone) };
  });
  const found = findRows({ wanted: sources, columns, segments, isUnique: false });
  const set = new Set(wanted);
  expect(found.distinct).toBe(set.size);
  expect(found.missing).toBeUndefined();
  const firstWith = (id: string): readonly [number, number] => {
    const at = wanted.indexOf(id);
    return at < half ? [0, at] : [1, at - half];
  };
  for (const [i, { ids, gone }] of segments.entries()) {
    const rows = ids.flatMap((id, row) => (set.has(id) && !gone.has(row) ? [row] : []));
    const one = found.segments[i]!;
    expect([...one.rows]).toEqual(rows);
    expect([...one.rowIds]).toEqual(rows.map((row) => 100 + row));
    const given = rows.map((row) => firstWith(ids[row]!));
    expect([...one.files].map((file, at) => [file, one.given[at]])).toEqual(given);
  }
});

test(`rows are found by the form of their ids as by reading them (STRANDLAKE_SEED=${seed})`, async () => {
  const next = random(seed);
  const some = (ids: readonly string[]): string => ids[Math.floor(next() * ids.length)]!;
  const made = await Promise.all(
    [2_000, 300, 1].map(async (rows, chunk) => {
      const builder = new BatchBuilder();
      for (let row = 0; row < rows; row++) builder.endRecord();
      const whole = withRecordIds(builder.finish(), 481_200_000, chunk);
      const path = join(folder, `${files++}.parquet`);
      const { blockChecksums } = await writeSegment(whole, path);
      const ids = Array.from(whole.data.getChild('_id')!, String);
      const gone = Int32Array.from(ids.keys()).filter(() => next() < 0.2);
      const deletion = gone.length > 0 ? deletionVector(gone) : undefined;
      const idRuns = [{ firstId: firstRecordId(481_200_000, chunk), rows }];
      const placed = { idRuns, baseRowId: 7 * chunk };
      return { path, blockChecksums, ids, deletion, bounds: undefined, rows, ...placed };
    }),
  );
  const all = made.flatMap(({ ids }) => ids);
  const changed = (id: string): string => {
    const at = Math.floor(next() * id.length);
    return id.slice(0, at) + some(['0', 'z', 'Z', '', ' ', '00']) + id.slice(at + 1);
  };
  const wanted = Array.from({ length: 3_000 }, () => (next() < 0.6 ? some(all) : changed(some(all)))); // prettier-ignore
  const source = await written(wanted.length, 9, wanted);
  const search = { wanted: [source], columns, isUnique: false };
  const read = findRows({
    ...search,
    segments: made.map((one) => ({ ...one, idRuns: undefined })),
  });
  expect(findRows({ ...search, segments: made })).toEqual(read);
  expect(read.segments.some(({ rows }) => rows.length > 500)).toBe(true);
});

test.each([
  ['known to the log', (rows: number) => [{ firstId: firstRecordId(481_300_000, 0), rows }]],
  ['read', () => undefined],
])(
  'the first record with the _id of an earlier one is named where the _ids are %s',
  async (_, runs) => {
    const builder = new BatchBuilder();
    for (let row = 0; row < 50; row++) builder.endRecord();
    const whole = withRecordIds(builder.finish(), 481_300_000, 0);
    const path = join(folder, `${files++}.parquet`);
    const { blockChecksums } = await writeSegment(whole, path);
    const ids = Array.from(whole.data.getChild('_id')!, String);
    const deletion = deletionVector(Int32Array.of(7));
    const stored = { path, blockChecksums, deletion, bounds: undefined, rows: 50, baseRowId: 0, idRuns: runs(50) }; // prettier-ignore
    const repeatedIn = async (...lists: readonly (readonly string[])[]) => {
      const wanted = await Promise.all(lists.map((list, i) => written(list.length, 20 + i, list)));
      const search = { wanted, columns, segments: [stored] };
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
  const whole = await written(2, 1, ['a', 'b']);
  const holed = await written(3, 2, ['c', null, null]);
  const { missing, distinct } = findRows({ wanted: [whole, holed], columns, segments: [], isUnique: false }); // prettier-ignore
  expect([missing, distinct]).toEqual([[1, 1], 3]);
  const without = await written(2, 3);
  expect(findRows({ wanted: [without], columns, segments: [], isUnique: false }).missing).toEqual([
    0, 0,
  ]);
});
