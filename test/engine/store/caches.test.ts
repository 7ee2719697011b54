import { appendFile, mkdtemp, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { armFault } from '../../../engine/core/faultpoint.js';
import { fileExists, makeFolder, openDataFolder } from '../../../engine/core/files.js';
import type { Columns } from '../../../engine/core/types.js';
import { SegmentIntegrity } from '../../../engine/store/integrity.js';
import type { LogEntry } from '../../../engine/store/log.js';
import { emptyState } from '../../../engine/store/log-state.js';
import { openStore } from '../../../engine/store/open-store.js';
import { SnapshotCache } from '../../../engine/store/snapshot-cache.js';
import type { Segment, Snapshot, Store } from '../../../engine/store/store.js';
import { WrittenEntries } from '../../../engine/store/written-entries.js';
import { batchOf } from './random.js';
import { writeSegment } from './write-segment.js';

const columns: Columns = [{ name: 'n', physical: 'n', type: 'long', isList: false }];

let root: string;
let folder: DataFolder;
beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'strandlake-caches-')));
  folder = await openDataFolder(root);
});
afterAll(() => rm(root, { recursive: true }));

const commitNothing = (store: Store, id: number): Promise<Snapshot> =>
  store.commit(id, { columns, add: [], remove: [], info: {} }, folder.scratch);

async function commitRecord(store: Store, id: number): Promise<Snapshot> {
  const scratch = folder.taskScratch(id, 1);
  await makeFolder(scratch);
  const data = batchOf(columns, [[1n]], 1, 1n, 0);
  const segment = await writeSegment({ columns, data, rows: 1 }, join(scratch, 'one.parquet'));
  return store.commit(id, { columns, add: [segment], remove: [], info: {} }, scratch);
}

test('an earlier version that was asked for stays cached while others commit, and the last 64 versions do', async () => {
  const store = openStore(folder);
  for (let version = 0; version < 3; version++) await commitNothing(store, 1);
  const cachedSnapshot = await store.snapshot(1, 1);
  for (let version = 3; version < 70; version++) await commitNothing(store, 1);
  const newest = await store.snapshot(1);
  expect(await store.snapshot(1, 1)).toBe(cachedSnapshot);
  for (let version = 70; version < 134; version++) await commitNothing(store, 1);
  expect(await store.snapshot(1, 69)).toBe(newest);
});

test('rollbacks evict no version that was asked for, and write no schema file of an earlier version', async () => {
  const id = 3;
  const store = openStore(folder);
  const widerColumns: Columns = [...columns, { name: 'm', physical: 'm', type: 'long', isList: false }];
  const commitWider = () => store.commit(id, { columns: widerColumns, add: [], remove: [], info: {} }, folder.scratch);
  for (let version = 0; version < 3; version++) await commitNothing(store, id);
  const schemaFile = (await store.snapshot(id)).files[0]!;
  while ((await store.version(id)) < 140) await commitWider();
  const cachedSnapshot = await store.snapshot(id, 60);
  await rm(schemaFile);
  for (let version = 1; version < 140; version += 2) await store.rollback(id, version, 140);
  expect(await store.snapshot(id, 60)).toBe(cachedSnapshot);
  expect(fileExists(schemaFile)).toBe(false);
  // A store that has cached nothing gives the same rollback.
  for (const version of [0, 1, 70, 140])
    expect(await store.rollback(id, version, 140)).toEqual(await openStore(folder).rollback(id, version, 140));
}); // prettier-ignore

test('a rollback reads no log entry that the same store has written', async () => {
  const id = 4;
  const store = openStore(folder);
  for (let version = 0; version < 5; version++) await commitRecord(store, id);
  const lastVersion = await store.version(id);
  const rollbacks = [0, 2, 4].map((version) =>
    openStore(folder).rollback(id, version, lastVersion),
  );
  const expected = await Promise.all(rollbacks);
  armFault({ code: 'EIO', nth: 1, isLasting: true, operations: ['read'] });
  try {
    for (const [i, version] of [0, 2, 4].entries())
      expect(await store.rollback(id, version, lastVersion)).toEqual(expected[i]);
    await expect(openStore(folder).rollback(id, 2, lastVersion)).rejects.toThrow('EIO');
  } finally {
    armFault(undefined);
  }
});

/** Returns a log entry that deletes a number of rows of one segment. */
function entryWithDeletedRows(version: number, rows: number): LogEntry {
  const update = [{ segment: { path: 'a.parquet', deletion: { encoded: '', bytes: 0, rows } }, before: undefined }]; // prettier-ignore
  return { version, columns: undefined, add: [], remove: [], update, beginsDeletions: false, isRewrite: false, info: {}, time: 0 }; // prettier-ignore
}

test('written log entries are kept up to a size that counts their decoded rows, without whole segments, until the dataset is forgotten', () => {
  const writtenEntries = new WrittenEntries(10_000);
  const areKept = () => [0, 1, 2].map((version) => writtenEntries.get(5, version) !== undefined);
  for (const version of [0, 1, 2]) writtenEntries.add(5, entryWithDeletedRows(version, 1_000), 100);
  expect(areKept()).toEqual([false, true, true]);
  writtenEntries.add(51, entryWithDeletedRows(0, 1), 100);
  expect(areKept()).toEqual([false, true, true]);
  writtenEntries.forget(5);
  expect([...areKept(), writtenEntries.get(51, 0)?.version]).toEqual([false, false, false, 0]);
  const wholeSegment = { path: 'b.parquet', rows: 9, bytes: 9, stats: {} } as unknown as Segment;
  const update = [{ segment: wholeSegment, before: undefined }];
  writtenEntries.add(6, { ...entryWithDeletedRows(0, 1), remove: [wholeSegment], update }, 1);
  expect(writtenEntries.get(6, 0)).toMatchObject({
    remove: [{ path: 'b.parquet', deletion: undefined }],
    update: [{ segment: { path: 'b.parquet', deletion: undefined }, before: undefined }],
  });
  expect(Object.keys(writtenEntries.get(6, 0)!.remove[0]!)).toEqual(['path', 'deletion']);
}); // prettier-ignore

test('other work goes on between the written log entries that a rollback follows', async () => {
  const id = 6;
  const store = openStore(folder);
  for (let version = 0; version < 30; version++) await commitRecord(store, id);
  let turnCount = 0;
  let isDone = false;
  const countTurns = (): void => {
    turnCount += 1;
    if (!isDone) setImmediate(countTurns);
  };
  const rollback = store.rollback(id, 0, 29).finally(() => (isDone = true));
  setImmediate(countTurns);
  await rollback;
  expect(turnCount).toBeGreaterThanOrEqual(25);
});

/** Returns a version of a dataset without files, whose only segment has deleted rows. */
function versionWithDeletedRows(version: number, rows: number): Snapshot {
  const deletion = { encoded: '', bytes: 0, rows };
  const segment = { path: 'a.parquet', rows: 2 * rows, deletion } as Segment;
  return { datasetId: 2, version, columns, segments: [segment], rows, bytes: 0, files: [] };
}

test('earlier versions with many deleted rows are kept up to 64 MiB of them, or one larger one', async () => {
  const cache = new SnapshotCache(folder);
  const versions = [4, 4, 4, 4, 20, 1].map((millions, version) =>
    versionWithDeletedRows(version, (millions << 20) - 50),
  );
  const add = (snapshot: Snapshot): void =>
    cache.setCurrent(2, { state: { ...emptyState, version: snapshot.version }, snapshot });
  // There is no log, so a version that is not cached cannot be read again.
  const isCached = (version: number): Promise<boolean> =>
    cache.version(2, version).then(
      (snapshot) => snapshot === versions[version],
      () => false,
    );
  versions.slice(0, 5).forEach(add);
  for (const version of [0, 1, 2, 3]) expect([version, await isCached(version)]).toEqual([version, true]); // prettier-ignore
  add(versions[5]!);
  // The large version, which was replaced, does not evict the requested ones until it is requested, too.
  for (const version of [0, 4]) expect([version, await isCached(version)]).toEqual([version, true]);
  for (const version of [0, 1, 2, 3]) expect([version, await isCached(version)]).toEqual([version, false]); // prettier-ignore
});

test('the identities of verified files are remembered up to a limit, the least recently read forgotten first', async () => {
  const store = openStore(folder);
  const snapshots: Snapshot[] = [];
  for (const id of [10, 11, 12]) {
    const { segments, ...rest } = await commitRecord(store, id);
    // A file of an earlier format is read whole when it is verified for the first time.
    snapshots.push({ ...rest, segments: segments.map((one) => ({ ...one, blockChecksums: undefined })) }); // prettier-ignore
  }
  const integrity = new SegmentIntegrity(folder, 0, 2);
  for (const one of [0, 1, 0, 2]) await integrity.check({ ...snapshots[one]! });
  armFault({ code: 'EIO', nth: 1, isLasting: true, operations: ['open'] });
  try {
    for (const one of [0, 2]) await integrity.check({ ...snapshots[one]! });
    await expect(integrity.check({ ...snapshots[1]! })).rejects.toThrow('cannot');
  } finally {
    armFault(undefined);
  }
});

test('disk use looks up the size of each log entry once', async () => {
  const store = openStore(folder);
  for (let version = 0; version < 3; version++) await commitNothing(store, 20);
  const sizes = await Promise.all([0, 1, 2].map(async (version) => (await stat(folder.logEntry(20, version))).size)); // prettier-ignore
  const sum = sizes[0]! + sizes[1]! + sizes[2]!;
  expect((await store.diskUse(20)).entries).toEqual({ files: 3, bytes: sum });
  await appendFile(folder.logEntry(20, 0), 'more');
  await commitNothing(store, 20);
  const { size } = await stat(folder.logEntry(20, 3));
  expect((await store.diskUse(20)).entries).toEqual({ files: 4, bytes: sum + size });
  expect((await store.diskUse(20)).checkpoints).toEqual({ files: 0, bytes: 0 });
});
