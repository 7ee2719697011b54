import { expect, test } from '@jest/globals';
import { startLab } from '../api/lab.js';
import { seed } from '../seed.js';
import { differences } from './differences.js';
import { newCounts, randomVersions } from './random-versions.js';

// Merges soon after each commit, so that rows move between a commit and its rollback.
const lab = await startLab({ scheduler: { quietMs: 30 } });

test(`C6: random commits and rollbacks give the versions of a plain list (STRANDLAKE_SEED=${seed})`, async () => {
  const happened = newCounts();
  const least = (): number => {
    const { appends, deletes, overwrites, upserts, rollbacks, sorts } = happened;
    return Math.min(appends, deletes, overwrites, upserts, rollbacks, sorts);
  };
  // One history is enough, unless something has not happened in it.
  for (let i = 0; i < 5 && least() === 0; i++) await randomVersions(lab, seed + i, 35, happened);
  expect(least()).toBeGreaterThan(0);
  expect(await differences(lab.server)).toEqual([]);
});
