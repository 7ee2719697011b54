import { expect, test } from '@jest/globals';
import { startLab } from '../api/lab.js';
import { seed } from '../seed.js';
import { hostNowAndThen, newUpkeepCounts, runHistories, sequences } from './histories.js';
import { newCounts } from './random-versions.js';

const upkeep = newUpkeepCounts();
const lab = await startLab({ scheduler: { quietMs: 30, startHost: hostNowAndThen(upkeep) } });

test(`C6: ${sequences} random histories give the versions of a plain list (STRANDLAKE_SEED=${seed})`, async () => {
  const happened = newCounts();
  await runHistories(lab, { seed, count: sequences, happened, upkeep });
  console.log(`versions, seed ${seed}: ${JSON.stringify({ ...happened, ...upkeep })}`);
  expect(Math.min(...Object.values(happened), ...Object.values(upkeep))).toBeGreaterThan(0);
});
