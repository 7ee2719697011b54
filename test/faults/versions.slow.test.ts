import { expect, test } from '@jest/globals';
import { startLab } from '../api/lab.js';
import { seed } from '../seed.js';
import { differences } from './differences.js';
import { newCounts, randomVersions } from './random-versions.js';

const lab = await startLab({ scheduler: { quietMs: 30 } });
/** Number of random histories; STRANDLAKE_SEQUENCES overrides it. */
const sequences = Number(process.env['STRANDLAKE_SEQUENCES'] ?? 5);

test(`C6: ${sequences} random histories give the versions of a plain list (STRANDLAKE_SEED=${seed + 1})`, async () => {
  const happened = newCounts();
  for (let i = 1; i <= sequences; i++) await randomVersions(lab, seed + i, happened);
  expect(Math.min(...Object.values(happened))).toBeGreaterThan(0);
  expect(await differences(lab.server)).toEqual([]);
});
