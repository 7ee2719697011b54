import { createHash } from 'node:crypto';
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { armFault } from '../../../engine/core/faultpoint.js';
import { makeFolder, moveFile, openDataFolder, removeFile } from '../../../engine/core/files.js';
import { withMoreDeleted } from '../../../engine/store/deletion-vector.js';
import { writeCheckpoint } from '../../../engine/store/checkpoints.js';
import { openStore } from '../../../engine/store/open-store.js';
import { DurableLogStates } from '../../../engine/store/durable-log-states.js';
import { replayLog } from '../../../engine/store/replay-log.js';
import type { Segment, Snapshot } from '../../../engine/store/store.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';
import { NumbersDataset } from './numbers.js';

let folder: DataFolder;
beforeAll(async () => {
  folder = await openDataFolder(
    await realpath(await mkdtemp(join(tmpdir(), 'strandlake-durable-'))),
  );
});
afterAll(() => rm(folder.root, { recursive: true }));

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Returns the newest version, read by a store without cached state. */
const loadUncachedSnapshot = (id: number): Promise<Snapshot> => openStore(folder).snapshot(id);

test(`a log is read on as from its beginning (STRANDLAKE_SEED=${seed})`, async () => {
  const next = seededRandom(seed);
  const id = 1_001;
  const logs = new DurableLogStates(folder);
  const store = openStore(folder);
  const numbers = new NumbersDataset(folder, store, id, next);
  /** Returns the newest version, read from the cached state, without the checksum that only cached states have, which is checked first. */
  const readByCachedState = async (): Promise<Snapshot> => {
    const snapshot = await openStore(folder, { logs }).snapshot(id);
    if (snapshot.unsettledEntry !== undefined)
      expect(sha256(await readFile(folder.logEntry(id, snapshot.version)))).toBe(snapshot.unsettledEntry); // prettier-ignore
    return { ...snapshot, unsettledEntry: undefined };
  };
  expect((await readByCachedState()).version).toBe(-1);
  for (let step = 0; step < 60; step++) {
    await numbers.changeRandomly();
    if (next() < 0.5) await logs.advanceTo(id, (await loadUncachedSnapshot(id)).version);
    if (next() < 0.1) {
      const { version } = await loadUncachedSnapshot(id);
      await makeFolder(folder.taskScratch(id, 999));
      const file = join(folder.taskScratch(id, 999), 'checkpoint.parquet');
      await store.publishCheckpoint(id, file, await writeCheckpoint(folder, id, version, file));
      await removeFile(file);
    }
    if (next() < 0.6)
      expect([step, await readByCachedState()]).toEqual([step, await loadUncachedSnapshot(id)]);
  }
  expect({ ...(await logs.replay(id)), unsettledEntry: undefined }).toEqual(await replayLog(folder, id)); // prettier-ignore
  // The folder of the dataset is missing, as while the dataset is archived, and is then put back.
  await moveFile(folder.dataset(id), join(folder.scratch, 'aside'));
  expect((await readByCachedState()).version).toBe(-1);
  await moveFile(join(folder.scratch, 'aside'), folder.dataset(id));
  expect(await readByCachedState()).toEqual(await loadUncachedSnapshot(id));
});

test(`an entry that was taken back is forgotten (STRANDLAKE_SEED=${seed})`, async () => {
  const id = 1_002;
  const logs = new DurableLogStates(folder);
  const numbers = new NumbersDataset(folder, openStore(folder), id, seededRandom(seed));
  while ((numbers.versions.at(-1)?.snapshot.segments.length ?? 0) < 2)
    await numbers.changeRandomly();
  const { version, columns, segments } = await openStore(folder, { logs }).snapshot(id);
  const paths = segments.map(({ path }) => path);
  const removeSegment = async (path: string): Promise<readonly string[]> => {
    const change = { base: version, columns, add: [], remove: [path], info: {} };
    await openStore(folder).commit(id, change, '');
    const snapshotAfter = await openStore(folder, { logs }).snapshot(id);
    expect(snapshotAfter.version).toBe(version + 1);
    return snapshotAfter.segments.map((segment) => segment.path);
  };
  expect(await removeSegment(paths[0]!)).toEqual(paths.slice(1));
  await removeFile(folder.logEntry(id, version + 1));
  expect(await removeSegment(paths[1]!)).toEqual(paths.toSpliced(1, 1));
});

test(`a change of a version that was taken back is outdated, also when another version has its number (STRANDLAKE_SEED=${seed})`, async () => {
  const id = 1_005;
  const logs = new DurableLogStates(folder);
  const numbers = new NumbersDataset(folder, openStore(folder), id, seededRandom(seed));
  while (
    (numbers.versions.at(-1)?.snapshot.segments ?? []).filter(({ rows }) => rows > 2).length < 2
  )
    await numbers.changeRandomly();
  const { version, columns, segments } = await openStore(folder).snapshot(id);
  const [firstSegment, secondSegment] = segments.filter(({ rows }) => rows > 2);
  const deleteFirstRow = async (segment: Segment): Promise<Snapshot> => {
    const update = [withMoreDeleted(segment, Int32Array.of(0))];
    const change = { base: version, columns, add: [], remove: [], update, info: {} };
    await openStore(folder).commit(id, change, '');
    return openStore(folder, { logs }).snapshot(id);
  };
  const lostSnapshot = await deleteFirstRow(firstSegment!);
  const updateOfLost = [withMoreDeleted(lostSnapshot.segments.find(({ path }) => path === firstSegment!.path)!, Int32Array.of(1))]; // prettier-ignore
  expect(await openStore(folder).rebase(id, lostSnapshot, updateOfLost)).toEqual(updateOfLost);
  await removeFile(folder.logEntry(id, version + 1));
  expect(await openStore(folder).rebase(id, lostSnapshot, updateOfLost)).toBeUndefined();
  const keptSnapshot = await deleteFirstRow(secondSegment!);
  expect(keptSnapshot.version).toBe(lostSnapshot.version);
  const store = openStore(folder);
  expect(await store.rebase(id, lostSnapshot, updateOfLost)).toBeUndefined();
  expect(await store.rebase(id, keptSnapshot, [])).toEqual([]);
  // A later commit, such as that of a merge, changes nothing about that.
  await store.commit(id, { columns, add: [], remove: [], info: {} }, '');
  expect(await store.rebase(id, lostSnapshot, updateOfLost)).toBeUndefined();
  expect(await store.rebase(id, keptSnapshot, [])).toEqual([]);
});

test('commits, and the replay of a cached state, list no folder', async () => {
  const id = 1_004;
  const logs = new DurableLogStates(folder);
  const store = openStore(folder);
  const numbers = new NumbersDataset(folder, store, id, seededRandom(seed));
  while (numbers.versions.length < 2) await numbers.changeRandomly();
  expect((await logs.replay(id)).version).toBe(1);
  const lastingFault = { code: 'EIO', nth: 1, isLasting: true, operations: ['list'] } as const;
  for (let step = 0; step < 10; step++) {
    const versionCount = numbers.versions.length;
    while (numbers.versions.length === versionCount) {
      armFault(lastingFault);
      try {
        await numbers.changeRandomly();
      } finally {
        armFault(undefined);
      }
    }
    armFault(lastingFault);
    try {
      expect((await logs.replay(id)).version).toBe(versionCount);
    } finally {
      armFault(undefined);
    }
  }
});

test(`an entry that is known to be durable is read once (STRANDLAKE_SEED=${seed})`, async () => {
  const id = 1_003;
  const logs = new DurableLogStates(folder);
  const store = openStore(folder);
  const committedVersions: (readonly [number, number])[] = [];
  store.onCommit((datasetId, version) => committedVersions.push([datasetId, version]));
  const numbers = new NumbersDataset(folder, store, id, seededRandom(seed));
  await numbers.changeRandomly();
  await numbers.changeRandomly();
  await logs.advanceTo(id, 1); // the log is not read, because no job has asked for it
  expect((await logs.replay(id)).version).toBe(1);
  await numbers.changeRandomly();
  expect(committedVersions).toEqual([0, 1, 2].map((version) => [id, version]));
  await logs.advanceTo(id, 2);
  const wholeState = await replayLog(folder, id);
  await writeFile(folder.logEntry(id, 2), 'is not read');
  expect(await logs.replay(id)).toEqual(wholeState);
});
