import { mkdir, mkdtemp, readdir, realpath, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { armFault } from '../../../engine/core/faultpoint.js';
import { fileExists, makeFolder, openDataFolder, removeFile } from '../../../engine/core/files.js';
import type { Columns } from '../../../engine/core/types.js';
import { unpackArchive, writeArchive } from '../../../engine/store/archive.js';
import { writeCheckpoint } from '../../../engine/store/checkpoints.js';
import { openStore } from '../../../engine/store/open-store.js';
import type { Snapshot, Store, VacuumPlan } from '../../../engine/store/store.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';
import { NumbersDataset } from './numbers.js';
import { batchOf } from './random.js';
import { writeSegment } from './write-segment.js';

const roundCount = Number(process.env['STRANDLAKE_CASES'] ?? 4);
const noVacuumNeeds = { since: undefined, versions: [] };

let root: string;
let folder: DataFolder;
let clockMs = 1_000_000;
beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'strandlake-vacuum-')));
  folder = await openDataFolder(root);
});
afterAll(() => rm(root, { recursive: true }));

const newStore = (keepVersionsMs: number, pinMs: number): Store =>
  openStore(folder, { checkEveryMs: 0, keepVersionsMs, pinMs, now: () => clockMs });

async function listDatasetFiles(id: number): Promise<readonly string[]> {
  const names = await readdir(folder.dataset(id));
  return names.filter((name) => name.endsWith('.parquet')).toSorted();
}

/** Returns the properties in which the segments of two versions may differ. */
function segmentProperties({ segments }: Pick<Snapshot, 'segments'>): unknown {
  return segments.map(({ path, rows, deletion }) => [path, rows, deletion?.encoded]);
}

/** Removes the files of a plan, as the vacuum job does. */
async function removePlannedFiles(id: number, { files }: VacuumPlan): Promise<void> {
  for (const { path } of files) await removeFile(folder.datasetFile(id, path));
}

test(`the files that stay are those of the versions within the window and of those in use (STRANDLAKE_SEED=${seed})`, async () => {
  let vacuumCount = 0;
  let unreadableCount = 0;
  for (let round = 0; round < roundCount; round++) {
    const next = seededRandom(seed + round);
    const randomBelow = (count: number): number => Math.floor(next() * count);
    const id = 1_000 + round;
    const [keepMs, pinMs] = [randomBelow(3) * 40, 15];
    let store = newStore(keepMs, pinMs);
    const numbers = new NumbersDataset(folder, store, id, next);
    /** For each earlier version, the time when the next version replaced it as the newest; `usedAt` has the time when it was last used. */
    const replacedAt: number[] = [];
    const usedAt = new Map<number, number>();
    for (let step = 0; step < 40; step++) {
      const versionCount = numbers.versions.length;
      clockMs += 1 + randomBelow(20);
      await numbers.changeRandomly();
      if (numbers.versions.length > versionCount && versionCount > 0)
        replacedAt[versionCount - 1] = clockMs;
      clockMs += 1 + randomBelow(20);
      if (next() < 0.3) {
        const version = randomBelow(numbers.versions.length);
        const { segments } = numbers.versions[version]!.snapshot;
        const filesPresent = await listDatasetFiles(id);
        const isWhole = segments.every(({ path }) => filesPresent.includes(path));
        const reading = store.snapshot(id, version);
        if (isWhole) {
          expect([round, step, segmentProperties(await reading)]).toEqual([
            round,
            step,
            segmentProperties({ segments }),
          ]);
          usedAt.set(version, clockMs);
        } else {
          await expect(reading).rejects.toMatchObject({ code: 'invalid', message: expect.stringContaining('cannot be read any more') }); // prettier-ignore
          unreadableCount++;
        }
      }
      if (next() < 0.7) continue;
      const lastVersion = numbers.versions.length - 1;
      const chosenVersion = next() < 0.3 ? randomBelow(lastVersion + 1) : undefined;
      const sinceTime = next() < 0.3 ? clockMs - randomBelow(60) : undefined;
      const windowStart = Math.min(clockMs - keepMs, (sinceTime ?? Infinity) - 1);
      const neededVersions = numbers.versions.filter(
        (_, version) =>
          version === lastVersion ||
          (replacedAt[version] ?? Infinity) > windowStart ||
          version === chosenVersion ||
          clockMs - (usedAt.get(version) ?? -Infinity) <= pinMs,
      );
      const neededPaths = new Set(
        neededVersions.flatMap(({ snapshot }) => snapshot.segments.map((one) => one.path)),
      );
      const filesPresent = await listDatasetFiles(id);
      const plan = await store.beginVacuum(id, { since: sinceTime, versions: chosenVersion === undefined ? [] : [chosenVersion] }); // prettier-ignore
      if (plan !== undefined) await removePlannedFiles(id, plan);
      const endVersion = await store.endVacuum(id);
      expect(endVersion !== undefined).toBe(plan !== undefined);
      const filesLeft = filesPresent.filter((path) => neededPaths.has(path));
      expect([round, step, await listDatasetFiles(id)]).toEqual([round, step, filesLeft]);
      if (plan !== undefined) vacuumCount++;
      const currentSnapshot = await newStore(keepMs, pinMs).snapshot(id);
      for (let one = lastVersion; one < currentSnapshot.version; one++) replacedAt[one] = clockMs;
      numbers.noteVersionsWithoutSegments(currentSnapshot);
      expect(segmentProperties(currentSnapshot)).toEqual(
        segmentProperties(numbers.versions[lastVersion]!.snapshot),
      );
      expect(await store.verify(id)).toEqual([]);
      if (next() < 0.2) [store] = [newStore(keepMs, pinMs), usedAt.clear()] as const;
    }
  }
  expect(Math.min(vacuumCount, unreadableCount)).toBeGreaterThan(0);
});

test('a vacuum that was stopped is taken up again, also by another process', async () => {
  const [id, next] = [2_000, seededRandom(7)];
  const store = newStore(0, 0);
  const numbers = new NumbersDataset(folder, store, id, next);
  while (numbers.versions.length < 20) await numbers.changeRandomly();
  clockMs += 10;
  expect(await store.isVacuumDue(id)).toBe(true);
  const plan = (await store.beginVacuum(id, noVacuumNeeds))!;
  const { version } = plan;
  await removeFile(folder.datasetFile(id, plan.files[0]!.path));
  await expect(store.endVacuum(id)).rejects.toThrow('is still there after a vacuum');
  const reopenedStore = newStore(0, 0);
  expect(await reopenedStore.verify(id)).toEqual([]);
  expect(await reopenedStore.sweep(() => Promise.resolve(version))).toEqual({ removed: [], quarantined: [], failures: [] }); // prettier-ignore
  expect(await reopenedStore.isVacuumDue(id)).toBe(true);
  expect((await reopenedStore.beginVacuum(id, noVacuumNeeds))!).toEqual(plan);
  await removePlannedFiles(id, plan);
  expect(await reopenedStore.endVacuum(id)).toBe(version + 1);
  expect([await reopenedStore.endVacuum(id), await reopenedStore.isVacuumDue(id)]).toEqual([
    undefined,
    false,
  ]);
  expect(await listDatasetFiles(id)).toEqual((await reopenedStore.snapshot(id)).segments.map(({ path }) => path).toSorted()); // prettier-ignore
});

test('a version is read from the merge that followed, if only merges did', async () => {
  const [id, next] = [3_000, seededRandom(9)];
  const store = newStore(0, 0);
  const numbers = new NumbersDataset(folder, store, id, next);
  while (numbers.versions.length < 30) await numbers.changeRandomly();
  clockMs += 10;
  await removePlannedFiles(id, (await store.beginVacuum(id, noVacuumNeeds))!);
  const endVersion = (await store.endVacuum(id))!;
  for (const [version, { live }] of numbers.versions.entries()) {
    const readableVersion = await store.readableVersion(id, version);
    let sameVersion = version;
    while (String(numbers.versions[sameVersion + 1]?.live) === String(live)) sameVersion++;
    if (sameVersion === numbers.versions.length - 1) sameVersion = endVersion;
    expect([version, readableVersion]).toEqual([version, sameVersion]);
    expect(await store.readableVersion(id, version)).toBe(sameVersion);
    if (sameVersion === endVersion)
      expect((await store.snapshot(id, readableVersion)).rows).toBe(live.length);
  }
});

test('a vacuum reads no version that was used only while it was the newest', async () => {
  const id = 3_500;
  const store = newStore(1_000, 500);
  const numbers = new NumbersDataset(folder, store, id, seededRandom(3));
  while ((await store.diskUse(id)).old.files === 0) await numbers.changeRandomly();
  clockMs += 1_001;
  // More versions than the store caches.
  for (let i = 0; i < 70; i++) {
    await numbers.changeRandomly();
    await store.snapshot(id);
  }
  armFault({ code: 'EIO', nth: 1, isLasting: true, operations: ['read'] });
  try {
    expect((await store.beginVacuum(id, noVacuumNeeds))!.files.length).toBeGreaterThan(0);
  } finally {
    armFault(undefined);
  }
});

test('a rollback of a version before a vacuum is the same as before the vacuum', async () => {
  const id = 3_800;
  const store = newStore(0, 0);
  const numbers = new NumbersDataset(folder, store, id, seededRandom(5));
  while (numbers.versions.length < 20) await numbers.changeRandomly();
  const versions = [...numbers.versions.keys()];
  const base = versions.at(-1)!;
  const expected = await Promise.all(versions.map((version) => store.rollback(id, version, base)));
  clockMs += 10;
  await removePlannedFiles(id, (await store.beginVacuum(id, noVacuumNeeds))!);
  const endVersion = (await store.endVacuum(id))!;
  for (const each of [store, newStore(0, 0)])
    for (const version of versions)
      expect([version, await each.rollback(id, version, endVersion)]).toEqual([version, { ...expected[version], base: endVersion }]); // prettier-ignore
});

test('schema files that no version in use has are removed', async () => {
  const id = 4_000;
  const store = newStore(0, 0);
  const numbers = new NumbersDataset(folder, store, id, seededRandom(3));
  while (numbers.versions.length < 20) await numbers.changeRandomly();
  const otherSchema = folder.datasetFile(id, `_schema/${'0'.repeat(32)}.parquet`);
  await writeFile(otherSchema, 'old');
  clockMs += 10;
  const plan = (await store.beginVacuum(id, noVacuumNeeds))!;
  expect((await readdir(folder.datasetFile(id, '_schema'))).length).toBe(1);
  await removePlannedFiles(id, plan);
  await store.endVacuum(id);
});

test.each(['listed', 'removed'])('a vacuum goes on if schema files cannot be %s, and the next one removes them', async (verb) => {
  const id = verb === 'listed' ? 4_010 : 4_011;
  const store = newStore(0, 0);
  const numbers = new NumbersDataset(folder, store, id, seededRandom(3));
  while (numbers.versions.length < 20) await numbers.changeRandomly();
  const otherSchema = folder.datasetFile(id, `_schema/${'0'.repeat(32)}.parquet`);
  const warnings: string[] = [];
  const { emitWarning } = process;
  process.emitWarning = (warning) => void warnings.push(String(warning));
  try {
    // A folder is not removed as a file.
    if (verb === 'removed') await mkdir(otherSchema);
    else {
      await writeFile(otherSchema, 'old');
      armFault({ code: 'EIO', nth: 1, isLasting: true, operations: ['list'] });
    }
    clockMs += 10;
    const plan = (await store.beginVacuum(id, noVacuumNeeds))!;
    expect(plan.version).toBe(await store.version(id));
    await removePlannedFiles(id, plan);
  } finally {
    armFault(undefined);
    process.emitWarning = emitWarning;
  }
  expect(warnings).toEqual([expect.stringMatching(/dataset \d+: schema files .* stay until the next vacuum/)]); // prettier-ignore
  await store.endVacuum(id);
  numbers.noteVersionsWithoutSegments(await store.snapshot(id));
  if (verb === 'removed') await rmdir(otherSchema).then(() => writeFile(otherSchema, 'old'));
  const removedCountBefore = (await store.diskUse(id)).old.files;
  while ((await store.diskUse(id)).old.files === removedCountBefore) await numbers.changeRandomly();
  clockMs += 10;
  await removePlannedFiles(id, (await store.beginVacuum(id, noVacuumNeeds))!);
  expect(await readdir(folder.datasetFile(id, '_schema'))).not.toContain(basename(otherSchema));
}); // prettier-ignore

/**
 * Commits four versions with one more column each; the last one removes the segment of the third one, so that only the third one loses a
 * file.
 */
async function commitColumnByColumn(store: Store, id: number): Promise<void> {
  const names = ['a', 'b', 'c', 'd'];
  const paths: string[] = [];
  for (const count of names.keys()) {
    const columns: Columns = names.slice(0, count + 1).map((name) => ({ name, physical: name, type: 'long', isList: false })); // prettier-ignore
    const scratch = folder.taskScratch(id, count + 1);
    await makeFolder(scratch);
    const data = batchOf(columns, columns.map(() => [1n]), 1, 1n, count); // prettier-ignore
    const add = [await writeSegment({ columns, data, rows: 1 }, join(scratch, '0.parquet'))];
    const remove = count === 3 ? [paths[2]!] : [];
    const { segments } = await store.commit(id, { columns, add, remove, info: {} }, scratch);
    paths.push(segments.at(-1)!.path);
  }
}

test('a version that is asked for at any moment of a vacuum has its schema file, then and later', async () => {
  const readBoth = (store: Store, id: number): Promise<readonly Snapshot[]> => Promise.all([0, 1].map((version) => store.snapshot(id, version))); // prettier-ignore
  const findMissing = ({ files }: Snapshot): readonly string[] => files.filter((file) => !fileExists(file)); // prettier-ignore
  const lastDelay = 20;
  for (let delay = 0; delay <= lastDelay; delay++) {
    const id = 4_100 + delay;
    const store = newStore(0, 1_000);
    await commitColumnByColumn(store, id);
    clockMs += 2_000; // no version is in use any more
    const vacuum = store.beginVacuum(id, noVacuumNeeds);
    // The last moment is between the plan of the vacuum and the removal of its files.
    if (delay === lastDelay) await vacuum;
    else for (let i = 0; i < delay; i++) await setImmediate();
    const reading = readBoth(store, id);
    if (delay === lastDelay) await reading;
    await removePlannedFiles(id, (await vacuum)!);
    await store.endVacuum(id);
    for (const versions of [await reading, await readBoth(store, id)])
      expect([delay, versions.map(findMissing)]).toEqual([delay, [[], []]]);
  }
});

test('a vacuum is due although the clock was ahead when the first file was removed', async () => {
  const id = 4_500;
  const store = newStore(700, 0);
  const numbers = new NumbersDataset(folder, store, id, seededRandom(3));
  clockMs += 1_000_000;
  while ((await store.diskUse(id)).old.files < 2) await numbers.changeRandomly();
  clockMs -= 1_000_000;
  const earlyFileCount = (await store.diskUse(id)).old.files;
  while ((await store.diskUse(id)).old.files < earlyFileCount + 2) await numbers.changeRandomly();
  expect(await store.isVacuumDue(id)).toBe(false);
  clockMs += 801;
  expect(await store.isVacuumDue(id)).toBe(true);
  expect((await store.beginVacuum(id, noVacuumNeeds))!.files.length).toBeGreaterThanOrEqual(2);
});

test.each(['log', 'checkpoint'])('versions and rows are kept for the whole window although the clock was behind when they were outdated, by the %s', async (source) => {
  const id = source === 'log' ? 4_510 : 4_511;
  const store = newStore(700, 0);
  const numbers = new NumbersDataset(folder, store, id, seededRandom(3));
  while (numbers.versions.length < 5) await numbers.changeRandomly();
  const removedBefore = (await store.diskUse(id)).old.files;
  clockMs += 10_000;
  await numbers.changeRandomly();
  clockMs -= 5_000;
  // These versions are committed while the clock is behind. It is right again when the store is opened anew.
  while (numbers.versions.length < 30) await numbers.changeRandomly();
  expect((await store.diskUse(id)).old.files).toBeGreaterThan(removedBefore);
  clockMs += 5_000;
  const reopenedStore = newStore(700, 0);
  if (source === 'checkpoint') {
    const file = join(folder.scratch, 'checkpoint.parquet');
    const { version } = await reopenedStore.snapshot(id);
    await reopenedStore.publishCheckpoint(id, file, await writeCheckpoint(folder, id, version, file)); // prettier-ignore
  }
  const readStore = newStore(700, 0);
  expect((await readStore.nextMerge(id, true))!.dropsDeleted).toBe(false);
  await readStore.beginVacuum(id, noVacuumNeeds);
  for (const { snapshot } of numbers.versions.slice(5))
    expect(segmentProperties(await readStore.snapshot(id, snapshot.version))).toEqual(segmentProperties(snapshot)); // prettier-ignore
  clockMs += 801;
  expect((await readStore.nextMerge(id, true))!.dropsDeleted).toBe(true);
  expect((await readStore.beginVacuum(id, noVacuumNeeds))!.files.length).toBeGreaterThan(0);
  expect(await newStore(700, 0).verify(id)).toEqual([]);
}); // prettier-ignore

test('the time in an archive does not count: a restored dataset keeps its versions and deleted rows for one more window', async () => {
  const id = 4_600;
  const numbers = new NumbersDataset(folder, newStore(700, 0), id, seededRandom(4));
  while (numbers.versions.length < 20) await numbers.changeRandomly();
  const archive = folder.archive(id);
  await writeArchive(folder, id, archive);
  clockMs += 10_000;
  const { folder: unpackedFolder } = await unpackArchive(archive, id, folder.taskScratch(id, 99));
  await newStore(700, 0).retire(id);
  await newStore(700, 0).restore(id, unpackedFolder);
  clockMs += 699;
  const store = newStore(700, 0); // the server was restarted meanwhile
  expect(await store.verify(id)).toEqual([]);
  expect(await store.isVacuumDue(id)).toBe(false);
  expect(await store.beginVacuum(id, noVacuumNeeds)).toBeUndefined();
  const { segments, dropsDeleted } = (await store.nextMerge(id, true))!;
  expect([segments.some(({ deletion }) => deletion !== undefined), dropsDeleted]).toEqual([true, false]); // prettier-ignore
  for (const [version, { snapshot }] of numbers.versions.entries())
    expect(segmentProperties(await store.snapshot(id, version))).toEqual(segmentProperties(snapshot)); // prettier-ignore
  clockMs += 200;
  expect(await store.isVacuumDue(id)).toBe(true);
  expect((await store.nextMerge(id, true))!.dropsDeleted).toBe(true);
  expect((await store.beginVacuum(id, noVacuumNeeds))!.files.length).toBeGreaterThan(0);
});

test.each(['is in the future, because the clock was ahead', 'is unreadable'])('a time of restore that %s counts as now, once', async (state) => {
  const isAhead = state !== 'is unreadable';
  const id = isAhead ? 4_700 : 4_800;
  const numbers = new NumbersDataset(folder, newStore(700, 0), id, seededRandom(4));
  while (numbers.versions.length < 20) await numbers.changeRandomly();
  const archive = folder.archive(id);
  await writeArchive(folder, id, archive);
  clockMs += 10_000;
  const { folder: unpackedFolder } = await unpackArchive(archive, id, folder.taskScratch(id, 99));
  await newStore(700, 0).retire(id);
  if (isAhead) clockMs += 1_000_000;
  await newStore(700, 0).restore(id, unpackedFolder);
  if (isAhead) clockMs -= 1_000_000;
  else await writeFile(folder.datasetFile(id, '_restored'), '');
  const store = newStore(700, 0);
  expect([await store.isVacuumDue(id), (await store.nextMerge(id, true))!.dropsDeleted]).toEqual([false, false]); // prettier-ignore
  clockMs += 699;
  expect([await store.isVacuumDue(id), await store.beginVacuum(id, noVacuumNeeds)]).toEqual([false, undefined]); // prettier-ignore
  clockMs += 102;
  expect([await store.isVacuumDue(id), (await store.nextMerge(id, true))!.dropsDeleted]).toEqual([true, true]); // prettier-ignore
  expect((await store.beginVacuum(id, noVacuumNeeds))!.files.length).toBeGreaterThan(0);
}); // prettier-ignore

test('an archive after a vacuum has the files that are left, and the same dataset comes back', async () => {
  const id = 5_000;
  const store = newStore(0, 0);
  const numbers = new NumbersDataset(folder, store, id, seededRandom(11));
  while (numbers.versions.length < 20) await numbers.changeRandomly();
  clockMs += 10;
  const plan = (await store.beginVacuum(id, noVacuumNeeds))!;
  // Only one file of the plan is removed, as if the vacuum had been killed.
  await removeFile(folder.datasetFile(id, plan.files[0]!.path));
  const archive = join(root, 'archive.tar.zst');
  const { version } = await writeArchive(folder, id, archive);
  const unpackedFiles = await unpackArchive(archive, id, join(root, 'unpacked'));
  expect([unpackedFiles.version, version]).toEqual([plan.version, plan.version]);
  const livePaths = (await store.snapshot(id)).segments.map(({ path }) => path);
  const names = (await readdir(unpackedFiles.folder)).filter((name) => name.endsWith('.parquet'));
  expect(names.toSorted()).toEqual(livePaths.toSorted());
});
