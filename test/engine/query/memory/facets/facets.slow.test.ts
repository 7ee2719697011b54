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
  let coveredCount = 0;
  for (let caseIndex = 0; caseIndex < caseCount; caseIndex += casesPerDataset) {
    const generated = randomDataset(random);
    if (unambiguousFields(generated.columns).length === 0) continue;
    const dataset = await storeGenerated(engineFixture, generated);
    for (let i = 0; i < casesPerDataset; i++) {
      const facetsBody = randomFacets(random, generated);
      const facets = parseFacets(facetsBody, indexFields(dataset.fields));
      if (!facets || unsupportedFacetReason(facets, generated.columns) !== undefined) continue;
      const selection = selectRandomRecords(random, generated);
      const memoryAnswers = computeAnswersByColumns(
        random,
        generated,
        selection.selections,
        facets,
      );
      if (memoryAnswers === undefined) continue;
      coveredCount += 1;
      const sqlAnswers = await computeAnswersBySql(
        engineFixture,
        dataset,
        selection.predicate,
        facets,
      );
      const naiveAnswers = Object.values(
        naiveFacets(facetsBody, generated.columns)(selection.rows),
      );
      facets.forEach((facet, index) => {
        const isNaive = agreesWithNaive(naiveAnswers[index], parseJson(memoryAnswers[index]!));
        if (areAlikeAnswers(memoryAnswers[index]!, sqlAnswers[index]!) && isNaive) return;
        const caseText = JSON.stringify({ asked: facetsBody, columns: generated.columns, rows: selection.rows }, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part)); // prettier-ignore
        throw new Error(`STRANDLAKE_SEED=${seed}: ${facet.field.name}: ${memoryAnswers[index]!}, by SQL ${sqlAnswers[index]!}, naive alike ${isNaive}\n${caseText}`); // prettier-ignore
      });
    }
  }
  expect(coveredCount).toBeGreaterThan(caseCount / 4);
});
