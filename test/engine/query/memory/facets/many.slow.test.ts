import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { unsupportedFacetReason } from '../../../../../engine/query/memory/facets/facet-support.js';
import { parseFacets } from '../../../../../engine/query/request/facet-request.js';
import { indexFields } from '../../../../../engine/query/request/field-index.js';
import type { Columns } from '../../../../../engine/core/types.js';
import {
  column,
  listColumn,
  openEngineFixture,
  type EngineFixture,
  type TestDataset,
  type TestRow,
} from '../../dataset.js';
import { storeGenerated } from '../../property-check.js';
import type { GeneratedDataset } from '../../naive-fields.js';
import { Random } from '../../random.js';
import { areAlikeAnswers } from './alike.js';
import { computeAnswersByColumns, computeAnswersBySql, selectRandomRecords } from './both-ways.js';
import { seed } from '../../../../seed.js';

/** The columns of the random records; STRANDLAKE_SEED repeats the records of a seed. */
const columns: Columns = [
  column('gene', 'string'),
  column('name', 'string'),
  column('sign', 'string'),
  listColumn(column('tags', 'string')),
  column('depth', 'integer'),
  column('place', 'long'),
  column('quality', 'double'),
  column('share', 'float'),
  column('noise', 'double'),
  listColumn(column('parts', 'double')),
  listColumn(column('counts', 'integer')),
  column('seen', 'date'),
  column('is', 'boolean'),
];

const facetRequests: readonly Readonly<Record<string, unknown>>[] = [
  { gene: { limit: 0 }, name: { limit: 0 }, sign: {}, is: {} },
  { gene: { limit: 7 }, name: { limit: 150 }, tags: { limit: 0 }, parts: { facet_type: 'terms' } },
  { gene: { facet_type: 'count' }, name: { facet_type: 'count' }, tags: { facet_type: 'count' } },
  { depth: { facet_type: 'count' }, noise: { facet_type: 'count' }, parts: { facet_type: 'count' }, seen: { facet_type: 'count' } }, // prettier-ignore
  { depth: {}, place: {}, quality: {}, share: {}, noise: {}, parts: {}, counts: {} },
  { depth: { extended: true }, quality: { extended: true }, share: { extended: true }, counts: { extended: true } }, // prettier-ignore
  { depth: { facet_type: 'percentiles' }, quality: { facet_type: 'percentiles', percents: [0, 0.1, 33.3, 99.99, 100] }, parts: { facet_type: 'percentiles' } }, // prettier-ignore
  { share: { facet_type: 'percentiles' }, noise: { facet_type: 'percentiles' }, counts: { facet_type: 'percentiles' } }, // prettier-ignore
  { depth: { facet_type: 'histogram', interval: 7 }, place: { facet_type: 'histogram', interval: 1e6 }, counts: { facet_type: 'histogram', interval: 0.5 } }, // prettier-ignore
  { quality: { facet_type: 'histogram', interval: 0.1 }, noise: { facet_type: 'histogram', interval: 1e-3 }, share: { facet_type: 'histogram', interval: 0.05 } }, // prettier-ignore
  { quality: { facet_type: 'histogram', interval: 10 }, parts: { facet_type: 'histogram', interval: 1 }, noise: { facet_type: 'histogram', interval: 1e-9 } }, // prettier-ignore
  { depth: { facet_type: 'histogram', scale: 'log' }, noise: { facet_type: 'histogram', scale: 'log', interval: 0.1 }, place: { facet_type: 'histogram', scale: 'log', interval: 0.01 } }, // prettier-ignore
  { seen: { facet_type: 'histogram' } },
  ...['year', 'quarter', 'week', 'day', 'hour', 'minute', 'second'].map((interval) => ({
    seen: { facet_type: 'histogram', interval },
  })),
  { seen: { limit: 30 }, depth: { facet_type: 'terms', limit: 0 }, share: { facet_type: 'terms' }, noise: { facet_type: 'terms', limit: 0 } }, // prettier-ignore
  { gene: { limit: 5, facets: { is: { facets: { depth: { facet_type: 'histogram' } } }, quality: { extended: true }, name: { facet_type: 'count' } } } }, // prettier-ignore
  { is: { facets: { gene: { limit: 0, facets: { depth: {}, sign: {} } }, quality: { facet_type: 'percentiles' } } } }, // prettier-ignore
  { seen: { facet_type: 'histogram', interval: 'year', facets: { gene: { limit: 3, facets: { noise: { facet_type: 'histogram', interval: 0.25 } } } } } }, // prettier-ignore
];

let engineFixture: EngineFixture;
let madeDataset: GeneratedDataset;
let dataset: TestDataset;
beforeAll(async () => {
  engineFixture = await openEngineFixture();
  const random = new Random(seed);
  const segments = [9_000, 2_000, 1].map((count) => ({
    columns,
    rows: random.list(count, () => randomRecord(random)),
  }));
  madeDataset = { columns, entities: {}, segments };
  dataset = await storeGenerated(engineFixture, madeDataset);
});
afterAll(() => engineFixture.close());

test.each(
  facetRequests.map((facetsBody) => [JSON.stringify(facetsBody).slice(0, 100), facetsBody]),
)(`many records: %s (STRANDLAKE_SEED=${seed})`, async (_, facetsBody) => {
  const random = new Random(seed + JSON.stringify(facetsBody).length);
  const facets = parseFacets(facetsBody, indexFields(dataset.fields))!;
  expect(unsupportedFacetReason(facets, columns)).toBeUndefined();
  const { selections, predicate } = selectRandomRecords(random, madeDataset);
  const sqlAnswers = await computeAnswersBySql(engineFixture, dataset, predicate, facets);
  // The answer is computed twice, with other random forms of the columns, which must not change it.
  for (let repetition = 0; repetition < 2; repetition++) {
    const memoryAnswers = computeAnswersByColumns(random, madeDataset, selections, facets)!;
    facets.forEach((facet, index) => {
      if (areAlikeAnswers(memoryAnswers[index]!, sqlAnswers[index]!)) return;
      expect([facet.field.name, memoryAnswers[index]]).toEqual([
        facet.field.name,
        sqlAnswers[index],
      ]);
    });
  }
});

/** Returns a random record; its columns differ in having many or few distinct values, integers or fractions, small or large ones. */
function randomRecord(random: Random): TestRow {
  const maybe = <T>(make: () => T): T | null => (random.chance(0.1) ? null : make());
  return {
    gene: maybe(() => `GENE${Math.floor(random.next() ** 2 * 3000)}`),
    name: maybe(() => `rs${random.integerBelow(1e9)}`),
    sign: random.pick(['a', 'B', 'é', '\ud83d\ude00', '\uffee', '"\\u00ab"', '\\', '\u0001\u001f\u007f', '', '\n', '\u2028']), // prettier-ignore
    tags: random.list(random.integerBelow(4), () => `t${random.integerBelow(6)}`),
    depth: maybe(() => random.integerBelow(90) - 5),
    place: maybe(() => random.integerBelow(2 ** 31) * random.pick([1, -1, 1000])),
    quality: maybe(() => random.integerBelow(1000) / 10),
    share: maybe(() => Math.fround(random.next() ** 8)),
    noise: maybe(() => (random.next() - 0.3) * 10 ** random.integerBelow(6)),
    parts: random.list(random.integerBelow(4), () => random.integerBelow(50) / 4),
    counts: random.list(
      random.integerBelow(4),
      () => random.integerBelow(5) * random.pick([1, 100_000]),
    ),
    seen: maybe(() =>
      new Date(random.integerBelow(2e12)).toISOString().slice(0, random.pick([10, 19])),
    ),
    is: maybe(() => random.chance(0.5)),
  };
}
