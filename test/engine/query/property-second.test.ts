import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openBench, type Bench } from './dataset.js';
import { casesPerSeed, runSeed, seeds } from './property-run.js';

/* The second half of the seeds: see property.test.ts. Two files, so that two workers share them. */
let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

test.each(seeds(1, 2))(`answers as a loop over the records does (STRANDLAKE_SEED=%i, ${casesPerSeed} cases) (Q6, Q7, Q8, Q13)`, async (seed) => {
  await expect(runSeed(bench, seed)).resolves.toBeUndefined();
}, 300_000); // prettier-ignore
