import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openDataFolder } from '../../../engine/core/files.js';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { openStore } from '../../../engine/store/open-store.js';
import type { Store } from '../../../engine/store/store.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';
import { NumbersDataset } from './numbers.js';

const roundCount = Number(process.env['STRANDLAKE_CASES'] ?? 6);

let root: string;
let folder: DataFolder;
let store: Store;
beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'strandlake-difference-')));
  folder = await openDataFolder(root);
  store = openStore(folder, { checkEveryMs: 0 });
});
afterAll(() => rm(root, { recursive: true }));

describe('the difference of two versions', () => {
  test(`is that of the lists of their records, wherever merges have moved them (STRANDLAKE_SEED=${seed})`, async () => {
    for (let round = 0; round < roundCount; round++) {
      const id = 1_000 + round;
      const next = seededRandom(seed + round);
      const numbers = new NumbersDataset(folder, store, id, next);
      for (let step = 0; step < 20; step++) {
        await numbers.changeRandomly();
        if (step % 4 === 3) await numbers.mergeRandomly(0.7);
      }
      const liveByVersion = [[], ...numbers.versions.map((version) => version.live)];
      for (let pair = 0; pair < 120; pair++) {
        const [i, k] = [
          Math.floor(next() * liveByVersion.length),
          Math.floor(next() * liveByVersion.length),
        ];
        const [before, after] = [liveByVersion[i]!, liveByVersion[k]!];
        const { added, removed } = await store.difference(id, i - 1, k - 1);
        const [setBefore, setAfter] = [new Set(before), new Set(after)];
        expect([round, i, k, numbers.numbersInRows(k - 1, added)]).toEqual([round, i, k, after.filter((n) => !setBefore.has(n))]); // prettier-ignore
        expect([round, i, k, numbers.numbersInRows(i - 1, removed)]).toEqual([round, i, k, before.filter((n) => !setAfter.has(n))]); // prettier-ignore
      }
    }
  });

  test('is known only of versions that exist', async () => {
    for (const [from, to] of [
      [0, 1_000],
      [-2, 0],
      [1_000, 0],
    ] as const)
      // prettier-ignore
      await expect(store.difference(1_000, from, to)).rejects.toMatchObject({ code: 'not-found' });
    expect(await store.difference(999, -1, -1)).toEqual({ added: new Map(), removed: new Map() });
  });
});
