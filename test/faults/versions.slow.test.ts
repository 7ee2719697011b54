import { expect, test } from '@jest/globals';
import { startLab } from '../api/lab.js';
import { historyParts, hostNowAndThen, newUpkeepCounts, runHistories } from './histories.js';
import { newCounts } from './random-versions.js';

const happened = newCounts();
const upkeep = newUpkeepCounts();
const lab = await startLab({ scheduler: { quietMs: 30, startHost: hostNowAndThen(upkeep) } });

test.each(historyParts)(
  'C6: %d random histories give the versions of a plain list (STRANDLAKE_SEED=%d)',
  (count, first) => runHistories(lab, count, first, { happened, upkeep }),
);

test('C6: everything that may happen in a history has happened', () => {
  console.log(`versions: ${JSON.stringify({ ...happened, ...upkeep })}`);
  expect(Math.min(...Object.values(happened), ...Object.values(upkeep))).toBeGreaterThan(0);
});
