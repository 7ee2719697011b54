import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { unsupportedFacetReason } from '../../../../../engine/query/memory/facets/facet-support.js';
import { parseJson } from '../../../../../engine/core/json.js';
import { parseFacets } from '../../../../../engine/query/request/facet-request.js';
import { indexFields } from '../../../../../engine/query/request/field-index.js';
import { openEngineFixture, type EngineFixture } from '../../dataset.js';
import { randomFacets } from '../../facets-random.js';
import { naiveFacets } from '../../naive-facets.js';
import { unambiguousFields } from '../../naive-fields.js';
import { agreesWithNaive, storeGenerated } from '../../property-check.js';
import { randomDataset } from '../../random-records.js';
import { Random } from '../../random.js';
import { computeAnswersByColumns, computeAnswersBySql, selectRandomRecords } from './both-ways.js';
import { areAlikeAnswers } from './alike.js';
import { seed } from '../../../../seed.js';

/** The number of random cases, which STRANDLAKE_CASES sets; STRANDLAKE_SEED repeats the cases of a seed. */
const caseCount = Number(process.env['STRANDLAKE_CASES'] ?? 300);
const casesPerDataset = 20;

let engineFixture: EngineFixture;
beforeAll(async () => {
  engineFixture = await openEngineFixture();
});
afterAll(() => engineFixture.close());

test(`columns in memory answer trees of facets as the SQL engine and a loop over the records do (${caseCount} cases, STRANDLAKE_SEED=${seed})`, async () => {
  const random = new Random(seed);
  let covered = 0;
  for (let done = 0; done < caseCount; done += casesPerDataset) {
    const made = randomDataset(random);
    if (unambiguousFields(made.columns).length === 0) continue;
    const dataset = await storeGenerated(engineFixture, made);
    for (let i = 0; i < casesPerDataset; i++) {
      const asked = randomFacets(random, made);
      const facets = parseFacets(asked, indexFields(dataset.fields));
      if (!facets || unsupportedFacetReason(facets, made.columns) !== undefined) continue;
      const chosen = selectRandomRecords(random, made);
      const found = computeAnswersByColumns(random, made, chosen.selections, facets);
      if (found === undefined) continue;
      covered += 1;
      const bySql = await computeAnswersBySql(engineFixture, dataset, chosen.predicate, facets);
      const naive = Object.values(naiveFacets(asked, made.columns)(chosen.rows));
      facets.forEach((facet, index) => {
        const isNaive = agreesWithNaive(naive[index], parseJson(found[index]!));
        if (areAlikeAnswers(found[index]!, bySql[index]!) && isNaive) return;
        const where = JSON.stringify({ asked, columns: made.columns, rows: chosen.rows }, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part)); // prettier-ignore
        throw new Error(`STRANDLAKE_SEED=${seed}: ${facet.field.name}: ${found[index]!}, by SQL ${bySql[index]!}, naive alike ${isNaive}\n${where}`); // prettier-ignore
      });
    }
  }
  expect(covered).toBeGreaterThan(caseCount / 4);
});
