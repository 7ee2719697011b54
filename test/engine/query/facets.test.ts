import { afterAll, beforeAll, describe, test } from '@jest/globals';
import { openBench, type Bench, engines } from './dataset.js';
import { randomFacets } from './facets-random.js';
import { namedFields } from './naive-fields.js';
import { askEngine, difference, store } from './property-check.js';
import { randomFilters } from './random-filter.js';
import { randomMade } from './random-records.js';
import type { RandomRequest } from './random-request.js';
import { Random } from './random.js';
import { casesByTier } from '../../tier.js';
import { seed } from '../../seed.js';

/** Run the same cases again with STRANDLAKE_SEED. */
const cases = casesByTier(30, 600);
const casesPerDataset = 20;

describe.each(engines)('by %s', (_, threads) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(threads);
  });
  afterAll(() => bench.close());

  test(`trees of facets answer as a loop over the records does (${cases} cases, STRANDLAKE_SEED=${seed}) (Q6)`, async () => {
    const random = new Random(seed);
    for (let done = 0; done < cases; done += casesPerDataset) {
      const madeData = randomMade(random);
      if (namedFields(madeData.columns).length === 0) continue;
      const ask = askEngine(bench, await store(bench, madeData));
      const requests = random.list(casesPerDataset, (): RandomRequest => {
        const filters = random.chance(0.5) ? randomFilters(random, madeData) : [];
        const body = { filters, facets: randomFacets(random, madeData), limit: 0 };
        return { body, asked: null, cursor: null };
      });
      const differences = await Promise.all(
        requests.map((request) => difference(madeData, request, ask)),
      );
      const first = differences.findIndex((found) => found !== null);
      if (first >= 0) {
        const caseText = {
          body: requests[first]!.body,
          columns: madeData.columns,
          segments: madeData.segments,
        };
        throw new Error(`STRANDLAKE_SEED=${seed}: ${differences[first]!}\n${shownText(caseText)}`);
      }
    }
  });

  function shownText(value: unknown): string {
    return JSON.stringify(value, (_, part: unknown) =>
      typeof part === 'bigint' ? `${part}n` : part,
    );
  }
});
