import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { facetRefusal } from '../../../../../engine/query/memory/facets/facet-support.js';
import { parseFacets } from '../../../../../engine/query/request/facets.js';
import { indexFields } from '../../../../../engine/query/request/fields.js';
import type { Columns } from '../../../../../engine/core/types.js';
import {
  column,
  listOf,
  openBench,
  type Bench,
  type Dataset,
  type TestRow,
} from '../../dataset.js';
import { store } from '../../property-check.js';
import type { MadeDataset } from '../../naive-fields.js';
import { Random } from '../../random.js';
import { alikeTexts } from './alike.js';
import { answeredByColumns, answeredBySql, chosenRecords } from './both-ways.js';
import { seed } from '../../../../seed.js';

/** Run the same records again with STRANDLAKE_SEED. */

const columns: Columns = [
  column('gene', 'string'),
  column('name', 'string'),
  column('sign', 'string'),
  listOf(column('tags', 'string')),
  column('depth', 'integer'),
  column('place', 'long'),
  column('quality', 'double'),
  column('share', 'float'),
  column('noise', 'double'),
  listOf(column('parts', 'double')),
  listOf(column('counts', 'integer')),
  column('seen', 'date'),
  column('is', 'boolean'),
];

const facets: readonly Readonly<Record<string, unknown>>[] = [
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

let bench: Bench;
let madeView: MadeDataset;
let dataset: Dataset;
beforeAll(async () => {
  bench = await openBench();
  const random = new Random(seed);
  const segments = [9_000, 2_000, 1].map((count) => ({
    columns,
    rows: random.list(count, () => record(random)),
  }));
  madeView = { columns, entities: {}, segments };
  dataset = await store(bench, madeView);
});
afterAll(() => bench.close());

test.each(facets.map((asked) => [JSON.stringify(asked).slice(0, 100), asked]))(
  `many records: %s (STRANDLAKE_SEED=${seed})`,
  async (_, asked) => {
    const random = new Random(seed + JSON.stringify(asked).length);
    const parsed = parseFacets(asked, indexFields(dataset.fields))!;
    expect(facetRefusal(parsed, columns)).toBeUndefined();
    const { selections, predicate } = chosenRecords(random, madeView);
    const wanted = await answeredBySql(bench, dataset, predicate, parsed);
    // Run twice: cached strings must not change the answer.
    for (let again = 0; again < 2; again++) {
      const found = answeredByColumns(random, madeView, selections, parsed)!;
      parsed.forEach((facet, index) => {
        if (alikeTexts(found[index]!, wanted[index]!)) return;
        expect([facet.field.name, found[index]]).toEqual([facet.field.name, wanted[index]]);
      });
    }
  },
);

/** A random record: many or few values, integers or fractions, small or large, repeated or not. */
function record(random: Random): TestRow {
  const some = <T>(make: () => T): T | null => (random.chance(0.1) ? null : make());
  return {
    gene: some(() => `GENE${Math.floor(random.next() ** 2 * 3000)}`),
    name: some(() => `rs${random.below(1e9)}`),
    sign: random.pick(['a', 'B', 'é', '\ud83d\ude00', '\uffee', '"\\u00ab"', '\\', '\u0001\u001f\u007f', '', '\n', '\u2028']), // prettier-ignore
    tags: random.list(random.below(4), () => `t${random.below(6)}`),
    depth: some(() => random.below(90) - 5),
    place: some(() => random.below(2 ** 31) * random.pick([1, -1, 1000])),
    quality: some(() => random.below(1000) / 10),
    share: some(() => Math.fround(random.next() ** 8)),
    noise: some(() => (random.next() - 0.3) * 10 ** random.below(6)),
    parts: random.list(random.below(4), () => random.below(50) / 4),
    counts: random.list(random.below(4), () => random.below(5) * random.pick([1, 100_000])),
    seen: some(() => new Date(random.below(2e12)).toISOString().slice(0, random.pick([10, 19]))),
    is: some(() => random.chance(0.5)),
  };
}
