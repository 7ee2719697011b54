import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openBench, type Bench } from './dataset.js';
import { casesPerSeed, runSeed, seeds } from './property-run.js';

/* The second half of the seeds: see property.test.ts. Two files, so that two workers share them. */
let columns: Bench;
let sql: Bench;
beforeAll(async () => {
  [columns, sql] = [await openBench(0), await openBench()];
});
afterAll(async () => {
  await columns.close();
  await sql.close();
});

test.each(seeds(1, 2))(`answers as a loop over the records does (STRANDLAKE_SEED=%i, ${casesPerSeed} cases) (Q6, Q7, Q8, Q13)`, async (seed) => {
  for (const bench of [columns, sql])
    await expect(runSeed(bench, seed)).resolves.toBeUndefined();
}, 300_000); // prettier-ignore
