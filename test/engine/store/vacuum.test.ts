import { mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { openDataFolder, removeFile } from '../../../engine/core/files.js';
import { unpackArchive, writeArchive } from '../../../engine/store/archive.js';
import { openStore } from '../../../engine/store/open.js';
import type { Snapshot, Store, VacuumPlan } from '../../../engine/store/store.js';
import { random } from '../../random.js';
import { seed } from '../../seed.js';
import { Numbers } from './numbers.js';

const rounds = Number(process.env['STRANDLAKE_CASES'] ?? 4);
const noNeeds = { since: undefined, versions: [] };

let root: string;
let folder: DataFolder;
let clock = 1_000_000;
beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'strandlake-vacuum-')));
  folder = await openDataFolder(root);
});
afterAll(() => rm(root, { recursive: true }));

const open = (keepVersionsMs: number, pinMs: number): Store =>
  openStore(folder, { checkEveryMs: 0, keepVersionsMs, pinMs, now: () => clock });

async function filesOf(id: number): Promise<readonly string[]> {
  const names = await readdir(folder.dataset(id));
  return names.filter((name) => name.endsWith('.parquet')).toSorted();
}

/** What tells the segments of two versions apart. */
function shown({ segments }: Pick<Snapshot, 'segments'>): unknown {
  return segments.map(({ path, rows, deletion }) => [path, rows, deletion?.encoded]);
}

/** Removes the files of a plan, as the job does. */
async function removeAll(id: number, { files }: VacuumPlan): Promise<void> {
  for (const { path } of files) await removeFile(folder.datasetFile(id, path));
}

test(`the files that stay are those of the versions within the window and of those in use (STRANDLAKE_SEED=${seed})`, async () => {
  let vacuums = 0;
  let gone = 0;
  for (let round = 0; round < rounds; round++) {
    const next = random(seed + round);
    const below = (count: number): number => Math.floor(next() * count);
    const id = 1_000 + round;
    const [keepMs, pinMs] = [below(3) * 40, 15];
    let store = open(keepMs, pinMs);
    const numbers = new Numbers(folder, store, id, next);
    /** When each version was the newest for the last time, and when it was asked for. */
    const until: number[] = [];
    const usedAt = new Map<number, number>();
    for (let step = 0; step < 40; step++) {
      const before = numbers.versions.length;
      clock += 1 + below(20);
      await numbers.change();
      if (numbers.versions.length > before && before > 0) until[before - 1] = clock;
      clock += 1 + below(20);
      if (next() < 0.3) {
        const version = below(numbers.versions.length);
        const { segments } = numbers.versions[version]!.snapshot;
        const there = await filesOf(id);
        const isWhole = segments.every(({ path }) => there.includes(path));
        const read = store.snapshot(id, version);
        if (isWhole) {
          expect([round, step, shown(await read)]).toEqual([round, step, shown({ segments })]);
          usedAt.set(version, clock);
        } else {
          await expect(read).rejects.toMatchObject({ code: 'invalid', message: expect.stringContaining('cannot be read any more') }); // prettier-ignore
          gone++;
        }
      }
      if (next() < 0.7) continue;
      const last = numbers.versions.length - 1;
      const chosen = next() < 0.3 ? below(last + 1) : undefined;
      const since = next() < 0.3 ? clock - below(60) : undefined;
      const windowBegins = Math.min(clock - keepMs, (since ?? Infinity) - 1);
      const needed = numbers.versions.filter(
        (_, version) =>
          version === last ||
          (until[version] ?? Infinity) > windowBegins ||
          version === chosen ||
          clock - (usedAt.get(version) ?? -Infinity) <= pinMs,
      );
      const paths = new Set(
        needed.flatMap(({ snapshot }) => snapshot.segments.map((one) => one.path)),
      );
      const there = await filesOf(id);
      const plan = await store.beginVacuum(id, { since, versions: chosen === undefined ? [] : [chosen] }); // prettier-ignore
      if (plan !== undefined) await removeAll(id, plan);
      const ended = await store.endVacuum(id);
      expect(ended !== undefined).toBe(plan !== undefined);
      const left = there.filter((path) => paths.has(path));
      expect([round, step, await filesOf(id)]).toEqual([round, step, left]);
      if (plan !== undefined) vacuums++;
      const current = await open(keepMs, pinMs).snapshot(id);
      for (let one = last; one < current.version; one++) until[one] = clock;
      numbers.noteSame(current);
      expect(shown(current)).toEqual(shown(numbers.versions[last]!.snapshot));
      expect(await store.verify(id)).toEqual([]);
      if (next() < 0.2) [store] = [open(keepMs, pinMs), usedAt.clear()] as const;
    }
  }
  expect(Math.min(vacuums, gone)).toBeGreaterThan(0);
});

test('a vacuum that was stopped is taken up again, also by another process', async () => {
  const [id, next] = [2_000, random(7)];
  const store = open(0, 0);
  const numbers = new Numbers(folder, store, id, next);
  while (numbers.versions.length < 20) await numbers.change();
  clock += 10;
  expect(await store.isVacuumDue(id)).toBe(true);
  const plan = (await store.beginVacuum(id, noNeeds))!;
  const { version } = plan;
  await removeFile(folder.datasetFile(id, plan.files[0]!.path));
  await expect(store.endVacuum(id)).rejects.toThrow('is still there after a vacuum');
  const again = open(0, 0);
  expect(await again.verify(id)).toEqual([]);
  expect(await again.sweep(() => Promise.resolve(version))).toEqual({ removed: [], quarantined: [] }); // prettier-ignore
  expect(await again.isVacuumDue(id)).toBe(true);
  expect((await again.beginVacuum(id, noNeeds))!).toEqual(plan);
  await removeAll(id, plan);
  expect(await again.endVacuum(id)).toBe(version + 1);
  expect([await again.endVacuum(id), await again.isVacuumDue(id)]).toEqual([undefined, false]);
  expect(await filesOf(id)).toEqual((await again.snapshot(id)).segments.map(({ path }) => path).toSorted()); // prettier-ignore
});

test('a version is read from the merge that followed, if only merges did', async () => {
  const [id, next] = [3_000, random(9)];
  const store = open(0, 0);
  const numbers = new Numbers(folder, store, id, next);
  while (numbers.versions.length < 30) await numbers.change();
  clock += 10;
  await removeAll(id, (await store.beginVacuum(id, noNeeds))!);
  const ended = (await store.endVacuum(id))!;
  for (const [version, { live }] of numbers.versions.entries()) {
    const found = await store.readableVersion(id, version);
    let same = version;
    while (String(numbers.versions[same + 1]?.live) === String(live)) same++;
    if (same === numbers.versions.length - 1) same = ended;
    expect([version, found]).toEqual([version, same]);
    expect(await store.readableVersion(id, version)).toBe(same);
    if (same === ended) expect((await store.snapshot(id, found)).rows).toBe(live.length);
  }
});

test('schema files that no version in use has go, and come back with a version that is read again', async () => {
  const id = 4_000;
  const store = open(0, 0);
  const numbers = new Numbers(folder, store, id, random(3));
  while (numbers.versions.length < 20) await numbers.change();
  const other = folder.datasetFile(id, `_schema/${'0'.repeat(32)}.parquet`);
  await writeFile(other, 'old');
  clock += 10;
  const plan = (await store.beginVacuum(id, noNeeds))!;
  expect(plan.files.at(-1)).toEqual({ path: `_schema/${'0'.repeat(32)}.parquet`, bytes: 3 });
  await removeAll(id, plan);
  await store.endVacuum(id);
  expect((await readdir(folder.datasetFile(id, '_schema'))).length).toBe(1);
});

test('an archive after a vacuum has the files that are left, and the same dataset comes back', async () => {
  const id = 5_000;
  const store = open(0, 0);
  const numbers = new Numbers(folder, store, id, random(11));
  while (numbers.versions.length < 20) await numbers.change();
  clock += 10;
  const plan = (await store.beginVacuum(id, noNeeds))!;
  await removeFile(folder.datasetFile(id, plan.files[0]!.path)); // the others are given up, too
  const archive = join(root, 'archive.tar.zst');
  const { version } = await writeArchive(folder, id, archive);
  const unpacked = await unpackArchive(archive, id, join(root, 'unpacked'));
  expect([unpacked.version, version]).toEqual([plan.version, plan.version]);
  const live = (await store.snapshot(id)).segments.map(({ path }) => path);
  const names = (await readdir(unpacked.folder)).filter((name) => name.endsWith('.parquet'));
  expect(names.toSorted()).toEqual(live.toSorted());
});
