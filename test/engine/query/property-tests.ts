import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openEngineFixture, type EngineFixture } from './dataset.js';
import { casesPerSeed, runSeed } from './property-run.js';

/** Declares a test for each seed that compares answers to random requests, over random records, with those of a loop (naive.ts). */
export function declareSeedTests(seeds: readonly number[]): void {
  let memoryFixture: EngineFixture;
  let sqlFixture: EngineFixture;
  beforeAll(async () => {
    [memoryFixture, sqlFixture] = [await openEngineFixture(0), await openEngineFixture()];
  });
  afterAll(async () => {
    await memoryFixture.close();
    await sqlFixture.close();
  });

  test.each(seeds)(`answers as a loop over the records does (STRANDLAKE_SEED=%i, ${casesPerSeed} cases) (Q6, Q7, Q8, Q13)`, async (seed) => {
    for (const engineFixture of [memoryFixture, sqlFixture])
      await expect(runSeed(engineFixture, seed)).resolves.toBeUndefined();
  }); // prettier-ignore
}
