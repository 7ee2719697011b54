import { afterAll, beforeAll, describe, test } from '@jest/globals';
import { openEngineFixture, type EngineFixture, enginesUnderTest } from './dataset.js';
import { randomFacets } from './facets-random.js';
import { unambiguousFields } from './naive-fields.js';
import { engineAnswerer, answerDifference, storeGenerated } from './property-check.js';
import { randomFilters } from './random-filter.js';
import { randomDataset } from './random-records.js';
import type { RandomRequest } from './random-request.js';
import { Random } from './random.js';
import { caseCountByTier } from '../../tier.js';
import { seed } from '../../seed.js';

/** The number of random cases; STRANDLAKE_SEED repeats the cases of a seed. */
const caseCount = caseCountByTier(15, 600);
const casesPerDataset = 20;

describe.each(enginesUnderTest)('by %s', (_, threads) => {
  let engineFixture: EngineFixture;
  beforeAll(async () => {
    engineFixture = await openEngineFixture(threads);
  });
  afterAll(() => engineFixture.close());

  test(`trees of facets answer as a loop over the records does (${caseCount} cases, STRANDLAKE_SEED=${seed}) (Q6)`, async () => {
    const random = new Random(seed);
    for (let caseIndex = 0; caseIndex < caseCount; caseIndex += casesPerDataset) {
      const madeData = randomDataset(random);
      if (unambiguousFields(madeData.columns).length === 0) continue;
      const ask = engineAnswerer(engineFixture, await storeGenerated(engineFixture, madeData));
      const requests = random.list(casesPerDataset, (): RandomRequest => {
        const filters = random.chance(0.5) ? randomFilters(random, madeData) : [];
        const body = { filters, facets: randomFacets(random, madeData), limit: 0 };
        return { body, queryTree: null, cursorPageSizes: null };
      });
      const differences = await Promise.all(
        requests.map((request) => answerDifference(madeData, request, ask)),
      );
      const firstDifferent = differences.findIndex((difference) => difference !== null);
      if (firstDifferent >= 0) {
        const caseText = {
          body: requests[firstDifferent]!.body,
          columns: madeData.columns,
          segments: madeData.segments,
        };
        throw new Error(
          `STRANDLAKE_SEED=${seed}: ${differences[firstDifferent]!}\n${shownText(caseText)}`,
        );
      }
    }
  });

  function shownText(value: unknown): string {
    return JSON.stringify(value, (_, part: unknown) =>
      typeof part === 'bigint' ? `${part}n` : part,
    );
  }
});
