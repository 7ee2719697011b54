import { expect, test } from '@jest/globals';
import { startServerFixture } from '../api/server-fixture.js';
import { historyRanges, startWorkerSometimes, newUpkeepCounts, runHistories } from './histories.js';
import { newEventCounts } from './random-versions.js';

const historyEventCounts = newEventCounts();
const upkeepCounts = newUpkeepCounts();
const serverFixture = await startServerFixture({
  scheduler: { quietMs: 30, startWorker: startWorkerSometimes(upkeepCounts) },
});

test.each(historyRanges)(
  'C6, Q8: %d random histories give the versions of a plain list (STRANDLAKE_SEED=%d)',
  (count, first) =>
    runHistories(serverFixture, count, first, {
      eventCounts: historyEventCounts,
      upkeep: upkeepCounts,
    }),
);

test('C6: everything that may happen in a history has happened', () => {
  console.log(`versions: ${JSON.stringify({ ...historyEventCounts, ...upkeepCounts })}`);
  expect(
    Math.min(...Object.values(historyEventCounts), ...Object.values(upkeepCounts)),
  ).toBeGreaterThan(0);
});
