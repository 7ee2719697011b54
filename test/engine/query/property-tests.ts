import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openBench, type Bench } from './dataset.js';
import { casesPerSeed, runSeed } from './property-run.js';

/** Declares a test per seed: random schemas, records and requests, compared with a loop over the records (naive.ts). */
export function testSeeds(seeds: readonly number[]): void {
  let columns: Bench;
  let sql: Bench;
  beforeAll(async () => {
    [columns, sql] = [await openBench(0), await openBench()];
  });
  afterAll(async () => {
    await columns.close();
    await sql.close();
  });

  test.each(seeds)(`answers as a loop over the records does (STRANDLAKE_SEED=%i, ${casesPerSeed} cases) (Q6, Q7, Q8, Q13)`, async (seed) => {
    for (const bench of [columns, sql])
      await expect(runSeed(bench, seed)).resolves.toBeUndefined();
  }); // prettier-ignore
}
