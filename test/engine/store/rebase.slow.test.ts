import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { openDataFolder } from '../../../engine/core/files.js';
import { deletedRows, withMoreDeleted } from '../../../engine/store/deletion-vector.js';
import { openStore } from '../../../engine/store/open-store.js';
import type { Segment, Snapshot, Store } from '../../../engine/store/store.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';
import { NumbersDataset } from './numbers.js';

let root: string;
let folder: DataFolder;
let store: Store;
beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'strandlake-rebase-')));
  folder = await openDataFolder(root);
  store = openStore(folder, { checkEveryMs: 0, keepVersionsMs: -1, pinMs: 0 });
});
afterAll(() => rm(root, { recursive: true }));

/** Chooses some more rows of a version to delete; returns their segments with these rows deleted, and the rows by path. */
function deleteRandomRows({ segments }: Snapshot, next: () => number) {
  const rows = new Map<string, Int32Array>();
  const update = segments.flatMap((segment): readonly Segment[] => {
    const goneRows = new Set(segment.deletion ? deletedRows(segment.deletion) : []);
    const allRows = Array.from({ length: segment.rows }, (_, row) => row);
    const chosenRows = Int32Array.from(allRows.filter((row) => !goneRows.has(row) && next() < 0.4));
    if (chosenRows.length === 0) return [];
    rows.set(segment.path, chosenRows);
    return [withMoreDeleted(segment, chosenRows)];
  });
  return { update, rows };
}

test(`deleted rows are followed through merges and vacuums, and through no change of records (STRANDLAKE_SEED=${seed})`, async () => {
  let followedCount = 0;
  for (let round = 0; round < 20; round++) {
    const id = 1_000 + round;
    const next = seededRandom(seed + round);
    const numbers = new NumbersDataset(folder, store, id, next);
    const newestVersion = () => numbers.versions.at(-1)!;
    for (let step = 0; step < 8; step++) await numbers.changeRandomly();
    await numbers.mergeRandomly(0.7);
    const base = newestVersion();
    const { update, rows } = deleteRandomRows(base.snapshot, next);
    const numbersToDelete = numbers.numbersInRows(numbers.versions.length - 1, rows);
    for (let step = Math.floor(next() * 4); step > 0; step--) await numbers.mergeRandomly();
    if ((await store.beginVacuum(id, { since: undefined, versions: [] })) !== undefined)
      numbers.noteVersionsWithoutSegments(await store.snapshot(id));
    const { version, columns } = newestVersion().snapshot;
    if (version > base.snapshot.version) followedCount += 1;

    const rebasedUpdate = (await store.rebase(id, base.snapshot, update))!;
    const change = { columns, add: [], remove: [], update: rebasedUpdate, info: {}, base: version };
    numbers.noteVersionsWithoutSegments(await store.commit(id, change, folder.scratch));
    const goneNumbers = new Set(numbersToDelete);
    expect([round, newestVersion().live.toSorted((a, b) => a - b)]).toEqual([
      round,
      base.live.filter((n) => !goneNumbers.has(n)).toSorted((a, b) => a - b),
    ]);
    // The deletion is a change of records, if it deletes any, and so outdates what was computed before.
    const outdatedUpdate = await store.rebase(id, base.snapshot, update);
    if (numbersToDelete.length > 0) expect([round, outdatedUpdate]).toEqual([round, undefined]);
    expect(await store.rebase(id, { version: version + 2 }, update)).toBeUndefined();
  }
  expect(followedCount).toBeGreaterThan(3);
});
