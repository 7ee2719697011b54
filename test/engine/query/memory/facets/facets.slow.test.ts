import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { facetRefusal } from '../../../../../engine/query/memory/facets/facet-support.js';
import { parseJson } from '../../../../../engine/core/json.js';
import { parseFacets } from '../../../../../engine/query/request/facets.js';
import { indexFields } from '../../../../../engine/query/request/fields.js';
import { openBench, type Bench } from '../../dataset.js';
import { randomFacets } from '../../facets-random.js';
import { facetsOf } from '../../naive-facets.js';
import { namedFields } from '../../naive-fields.js';
import { isAlike, store } from '../../property-check.js';
import { randomMade } from '../../random-records.js';
import { Random } from '../../random.js';
import { answeredByColumns, answeredBySql, chosenRecords } from './both-ways.js';
import { alikeTexts } from './alike.js';
import { seed } from '../../../../seed.js';

/** The number of cases; STRANDLAKE_SEED repeats them, STRANDLAKE_CASES sets their number. */
const cases = Number(process.env['STRANDLAKE_CASES'] ?? 300);
const casesPerDataset = 20;

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

test(`columns in memory answer trees of facets as the SQL engine and a loop over the records do (${cases} cases, STRANDLAKE_SEED=${seed})`, async () => {
  const random = new Random(seed);
  let covered = 0;
  for (let done = 0; done < cases; done += casesPerDataset) {
    const made = randomMade(random);
    if (namedFields(made.columns).length === 0) continue;
    const dataset = await store(bench, made);
    for (let i = 0; i < casesPerDataset; i++) {
      const asked = randomFacets(random, made);
      const facets = parseFacets(asked, indexFields(dataset.fields));
      if (!facets || facetRefusal(facets, made.columns) !== undefined) continue;
      const chosen = chosenRecords(random, made);
      const found = answeredByColumns(random, made, chosen.selections, facets);
      if (found === undefined) continue;
      covered += 1;
      const bySql = await answeredBySql(bench, dataset, chosen.predicate, facets);
      const naive = Object.values(facetsOf(asked, made.columns)(chosen.rows));
      facets.forEach((facet, index) => {
        const isNaive = isAlike(naive[index], parseJson(found[index]!));
        if (alikeTexts(found[index]!, bySql[index]!) && isNaive) return;
        const where = JSON.stringify({ asked, columns: made.columns, rows: chosen.rows }, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part)); // prettier-ignore
        throw new Error(`STRANDLAKE_SEED=${seed}: ${facet.field.name}: ${found[index]!}, by SQL ${bySql[index]!}, naive alike ${isNaive}\n${where}`); // prettier-ignore
      });
    }
  }
  expect(covered).toBeGreaterThan(cases / 4);
});
