import { expect, test } from '@jest/globals';
import { startLab } from '../api/lab.js';
import { seed } from '../seed.js';
import { differences } from './differences.js';
import { randomVersions } from './random-versions.js';

// Merges soon after each commit, so that rows move between a commit and its rollback.
const lab = await startLab({ scheduler: { quietMs: 30 } });
const sequences = Number(process.env['STRANDLAKE_SEQUENCES'] ?? 3);

test(`random commits and rollbacks give the versions of a plain list (STRANDLAKE_SEED=${seed})`, async () => {
  const happened = { appends: 0, deletes: 0, rollbacks: 0, blocked: 0, refused: 0, merges: 0 };
  for (let i = 0; i < sequences; i++) await randomVersions(lab, seed + i, 60, happened);
  expect(Math.min(...Object.values(happened))).toBeGreaterThan(0);
  expect(await differences(lab.server)).toEqual([]);
});
