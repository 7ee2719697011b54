import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { makeFolder, openDataFolder } from '../../../engine/core/files.js';
import { writeCheckpoint } from '../../../engine/store/checkpoints.js';
import { VersionDifferenceCache } from '../../../engine/store/difference.js';
import { openStore } from '../../../engine/store/open-store.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';
import { NumbersDataset } from './numbers.js';

let root: string;
let folder: DataFolder;
beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'strandlake-difference-')));
  folder = await openDataFolder(root);
});
afterAll(() => rm(root, { recursive: true }));

test(`log entries are read again for the way back if they take too much memory (STRANDLAKE_SEED=${seed})`, async () => {
  const store = openStore(folder, { checkEveryMs: 0 });
  const numbers = new NumbersDataset(folder, store, 1, seededRandom(seed));
  while (numbers.versions.length < 24) await numbers.changeRandomly();
  const liveSets = numbers.versions.map((version) => new Set(version.live));
  const lastVersion = liveSets.length - 1;
  for (const maxKeptBytes of [0, 3_000])
    for (const [from, to] of [[0, lastVersion], [lastVersion, 0], [5, lastVersion - 3], [lastVersion - 1, lastVersion]] as const) {
      const differences = new VersionDifferenceCache(folder, maxKeptBytes);
      const { added, removed } = await differences.get(1, from, to, lastVersion);
      const [before, after] = [liveSets[from]!, liveSets[to]!];
      expect([from, to, numbers.numbersInRows(to, added)]).toEqual([from, to, [...after].filter((n) => !before.has(n))]);
      expect([from, to, numbers.numbersInRows(from, removed)]).toEqual([from, to, [...before].filter((n) => !after.has(n))]);
    }
}); // prettier-ignore

test('all records are the difference from the version before the first commit, without the log before a checkpoint', async () => {
  const id = 2;
  const store = openStore(folder, { checkEveryMs: 0 });
  const numbers = new NumbersDataset(folder, store, id, seededRandom(7));
  while (numbers.versions.length < 12) await numbers.changeRandomly();
  const file = join(folder.taskScratch(id, 999), 'checkpoint.parquet');
  await makeFolder(folder.taskScratch(id, 999));
  await store.publishCheckpoint(id, file, await writeCheckpoint(folder, id, 9, file));
  await writeFile(folder.logEntry(id, 3), 'damaged');
  const { live } = numbers.versions[11]!;
  expect(live.length).toBeGreaterThan(0);
  const { added, removed } = await store.difference(id, -1, 11);
  expect([numbers.numbersInRows(11, added), removed.size]).toEqual([live, 0]);
  const reverseDifference = await store.difference(id, 11, -1);
  expect([
    numbers.numbersInRows(11, reverseDifference.removed),
    reverseDifference.added.size,
  ]).toEqual([live, 0]);
});
