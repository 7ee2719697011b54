import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseJson } from '../../../engine/core/json.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { runQuery } from '../../../engine/query/plan/run-query.js';
import { column, enginesUnderTest, fieldRows, listColumn, openEngineFixture, type EngineFixture, type TestDataset, type TestRow } from './dataset.js'; // prettier-ignore

/*
 * Tests numbers in queries: filters on 64-bit integers, which doubles would round, statistics of values that are large or close to each
 * other, and NaN; also that a number without a field is not searched in `_id` and `_commit`.
 */

const twoToThe53 = 2n ** 53n;
const longsBeyondDoubles = [
  twoToThe53 - 1n,
  twoToThe53,
  twoToThe53 + 1n,
  twoToThe53 + 2n,
  -twoToThe53 - 1n,
];

interface StatsFacet {
  readonly sum: number | null;
  readonly avg: number | null;
  readonly variance: number | null;
  readonly std_deviation: number | null;
}

describe.each(enginesUnderTest)('by %s', (_, threads) => {
  let engineFixture: EngineFixture;
  beforeAll(async () => {
    engineFixture = await openEngineFixture(threads);
  });
  afterAll(() => engineFixture.close());

  const ask = async ({ snapshot, fields }: TestDataset, json: string) =>
    runQuery(engineFixture.engine, snapshot, fields, parseQuery(parseJson(json), fields));

  describe('a filter of a long', () => {
    let madeDataset: TestDataset;
    beforeAll(async () => {
      madeDataset = await engineFixture.newDataset(
        [column('n', 'long')],
        [longsBeyondDoubles.map((n) => ({ n }))],
      );
    });
    test.each([
      ['["n", "9007199254740993.0"]', [twoToThe53 + 1n]],
      ['["n", 9007199254740993.0]', [twoToThe53 + 1n]],
      ['["n", 9007199254740993.000]', [twoToThe53 + 1n]],
      ['["n", "90071992547409930e-1"]', [twoToThe53 + 1n]],
      ['["n", "0.9007199254740993E16"]', [twoToThe53 + 1n]],
      ['["n", "9007199254740993.5"]', []],
      ['["n__in", ["-9007199254740993.0", "9007199254740991."]]', [twoToThe53 - 1n, -twoToThe53 - 1n]],
      ['["n__gt", "9007199254740992.5"]', [twoToThe53 + 1n, twoToThe53 + 2n]],
      ['["n__gte", "9007199254740993.5"]', [twoToThe53 + 2n]],
      ['["n__lt", "-9007199254740992.5"]', [-twoToThe53 - 1n]],
      ['["n__lt", "9007199254740991.5"]', [twoToThe53 - 1n, -twoToThe53 - 1n]],
      ['["n__lte", "-9007199254740993.5"]', []],
      ['["n__range", ["9007199254740992.5", "9007199254740993.5"]]', [twoToThe53 + 1n]],
    ])('%s', async (filter, expected) => {
      const { results } = await ask(madeDataset, `{"filters": [${filter}], "fields": ["n"]}`);
      const foundNumbers = (parseJson(results) as readonly { n: number | bigint }[]).map(({ n }) => BigInt(n)); // prettier-ignore
      expect(foundNumbers).toEqual(expected);
    }); // prettier-ignore
  });

  describe('statistics', () => {
    const computeStats = async (type: 'double' | 'long', values: readonly (number | bigint)[]): Promise<readonly StatsFacet[]> => {
      const columns = [column('g', 'string'), column('v', type), listColumn(column('l', type))];
      const halfLength = Math.ceil(values.length / 2);
      const rows = values.map((v): TestRow => ({ g: 'one', v, l: [v] }));
      const dataset = await engineFixture.newDataset(columns, [rows.slice(0, halfLength), rows.slice(halfLength)]);
      const extendedStats = { facet_type: 'stats', extended: true };
      const facets = { v: extendedStats, l: extendedStats, g: { facets: { v: extendedStats } } };
      const answer = await ask(dataset, JSON.stringify({ limit: 0, facets }));
      const answeredFacets = JSON.parse(answer.facets!) as { v: StatsFacet; l: StatsFacet; g: [string, number, { v: StatsFacet }][] };
      return [answeredFacets.v, answeredFacets.l, answeredFacets.g[0]![2].v];
    }; // prettier-ignore
    const steps = (start: number, count: number, step = 1) => Array.from({ length: count }, (_, i) => start + step * i); // prettier-ignore

    test('of doubles with 17 digits before the point are written as ECMAScript writes them', async () => {
      const values = [99_999_999_999_999_984, 72_057_594_037_927_952];
      const dataset = await engineFixture.newDataset([column('v', 'double')], [values.map((v) => ({ v }))]);
      const facetsOf = async (facet_type: string): Promise<string | null | undefined> =>
        (await ask(dataset, JSON.stringify({ limit: 0, facets: { v: { facet_type } } }))).facets;
      expect(await facetsOf('stats')).toContain(`"min":72057594037927950,"max":99999999999999980`);
      expect(await facetsOf('terms')).toBe('{"v":[[72057594037927950,1],[99999999999999980,1]]}');
    }); // prettier-ignore

    test.each([
      ['close to each other and far from 0', 'double', steps(1e15, 4), 1.25],
      ['with an outlier', 'double', [...steps(1e12, 9_999, 0), 1e12 + 1], 9_999 / 1e8],
      ['far apart', 'double', [-1e150, 1e150], 1e300],
      ['whose squares overflow', 'double', [...steps(0, 99, 0), 1e154], 99e304],
      ['of all sizes', 'double', [1e-3, 1e3, 1e9, -1e9], 0.5e18 + 187_500.0004375],
      ['that are equal', 'double', steps(0.1, 1_000, 0), 0],
      ['of 64 bits', 'long', [9223372036854775807n, 9223372036854775806n, 9223372036854775805n], 2 / 3], // prettier-ignore
      [
        'of both signs',
        'long',
        [-9223372036854775808n, 9223372036854775807n],
        8.507059173023461e37,
      ],
    ] as const)('of values %s', async (_name, type, values, variance) => {
      for (const statsFacet of await computeStats(type, values)) {
        const distanceOff = Math.abs(statsFacet.variance! - variance);
        expect(distanceOff).toBeLessThanOrEqual(1e-12 * variance);
        expect(Math.abs(statsFacet.std_deviation! - Math.sqrt(variance))).toBeLessThanOrEqual(1e-12 * Math.sqrt(variance)); // prettier-ignore
      }
    });

    test('the sum of whole numbers is rounded once, to the nearest double, before it is divided', async () => {
      const values = [1n - 2n ** 53n, 1n - 2n ** 53n, -5n, 0n];
      const sum = values.reduce((all, value) => all + value);
      // At this size, only multiples of 4 are doubles: the nearest one to the sum is -(2^54) - 4, a quarter of which is the average.
      expect(sum).toBe(-(2n ** 54n) - 3n);
      for (const statsFacet of await computeStats('long', values))
        expect(statsFacet.avg).toBe(-(2 ** 52) - 1);
    });

    test('a finite sum is never null, and one that is not finite is', async () => {
      for (const statsFacet of await computeStats(
        'double',
        [1.5e308, 1.5e308, -1.5e308, -1.5e308, 1e308],
      ))
        expect(statsFacet).toMatchObject({ sum: 1e308, variance: null });
      for (const statsFacet of await computeStats('double', [1.5e308, 1.5e308]))
        expect(statsFacet).toMatchObject({ sum: null, avg: 1.5e308, variance: 0 });
    });
  });

  test.each(['double', 'float'] as const)('a filter of a %s finds NaN above all numbers, in whatever row group it is', async (type) => {
    const values = Array.from({ length: 500 }, (_, i) => (i % 5 === 0 ? NaN : i === 499 ? 501 : i));
    const dataset = await engineFixture.newDataset([column('d', type)], [values.map((d) => ({ d }))]);
    const countMatches = async (filter: unknown) => (await ask(dataset, JSON.stringify({ filters: [filter], limit: 0 }))).total;
    expect(await countMatches(['d__gt', 500])).toBe(101);
    expect(await countMatches(['d__gt', 600])).toBe(100);
    expect(await countMatches(['d__lt', 2])).toBe(1);
    expect(await countMatches({ not: ['d__gt', 500] })).toBe(399);
  }); // prettier-ignore

  test('a term without a field is not searched in the ids of records and commits', async () => {
    const { snapshot } = await engineFixture.newDataset(
      [column('gene', 'string')],
      [[{ gene: 'x' }]],
    );
    // The catalogue lists `_commit` among the fields of a dataset with data.
    const fields = fieldRows([column('gene', 'string'), column('_commit', 'string')], []);
    const countMatches = async (query: string): Promise<number> => (await ask({ snapshot, fields }, JSON.stringify({ query }))).total; // prettier-ignore
    expect(await countMatches('4812')).toBe(0);
    expect(await countMatches('4812 x')).toBe(1);
    expect(await countMatches('_commit:4812')).toBe(1);
  });
});
