import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openBench, type Bench } from './dataset.js';
import { casesPerSeed, runSeed, seeds } from './property-run.js';

/*
 * Random schemas, records and requests against a loop over the records in plain TypeScript (naive.ts). STRANDLAKE_SEED runs one
 * seed again, STRANDLAKE_CASES as many cases as that; the second half of the seeds is in property-second.test.ts.
 */
let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

test.each(seeds(0, 2))(`answers as a loop over the records does (STRANDLAKE_SEED=%i, ${casesPerSeed} cases) (Q6, Q7, Q8, Q13)`, async (seed) => {
  await expect(runSeed(bench, seed)).resolves.toBeUndefined();
}, 300_000); // prettier-ignore
