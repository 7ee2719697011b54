import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runQuery } from '../../../engine/query/plan/run-query.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import type { Column, StoredType } from '../../../engine/core/types.js';
import {
  column,
  enginesUnderTest,
  listColumn,
  openEngineFixture,
  type EngineFixture,
  type TestDataset,
} from './dataset.js';

/** Types that a later import widens: each column is stored as the first type in one segment and as the second in the next. */
const typeWidenings: readonly (readonly [StoredType, StoredType])[] = [
  ['long', 'double'],
  ['integer', 'double'],
  ['integer', 'long'],
];

const oldValues = [0, 5, -7, null, 40];
const recentValues = { double: [0.5, 5, -7.25, null], long: [2 ** 33, 5, -7, null] };

describe.each(enginesUnderTest)('segments older than a wider type, by %s', (_, threads) => {
  let engineFixture: EngineFixture;
  beforeAll(async () => {
    engineFixture = await openEngineFixture(threads);
  });
  afterAll(() => engineFixture.close());

  const columnsOf = (type: StoredType): readonly Column[] => [
    column('n', type),
    column('v', type),
    listColumn(column('l', type)),
    column('o', 'object', [column('x', type)]),
  ];

  const datasetOf = async (from: StoredType, to: 'double' | 'long'): Promise<TestDataset> => {
    const rowsOf = (values: readonly (number | null)[], firstNumber: number) =>
      values.map((v, i) => ({ n: firstNumber + i, v, l: v === null ? [] : [v, 1], o: { x: v } }));
    return engineFixture.newDataset(
      columnsOf(to),
      [rowsOf(oldValues, 0), rowsOf(recentValues[to], oldValues.length)],
      {
        stored: [columnsOf(from), columnsOf(to)],
      },
    );
  };

  const ask = async ({ snapshot, fields }: TestDataset, body: object) => {
    const request = parseQuery({ limit: 100, ...body }, fields);
    const answer = await runQuery(engineFixture.engine, snapshot, fields, request);
    return {
      total: answer.total,
      rows: JSON.parse(answer.results) as { n: number; v: number | null; l: number[] }[],
      facets: (answer.facets && JSON.parse(answer.facets)) as Record<string, unknown> | undefined,
    };
  };

  test.each(typeWidenings)('%s as %s', async (from, to) => {
    const dataset = await datasetOf(from, to as 'double' | 'long');
    const values = [...oldValues, ...recentValues[to as 'double' | 'long']];
    const knownValues = values.filter((v) => v !== null);
    const indicesWhere = (isWanted: (v: number) => boolean) =>
      values.flatMap((v, i) => (v !== null && isWanted(v) ? [i] : []));

    const wholeAnswer = await ask(dataset, {});
    expect(wholeAnswer.rows.map(({ v }) => v)).toEqual(values);
    expect(wholeAnswer.rows.map(({ l }) => l)).toEqual(
      values.map((v) => (v === null ? [] : [v, 1])),
    );

    const filters: readonly (readonly [unknown, (v: number) => boolean])[] = [
      [['v', 5], (v) => v === 5],
      [['v__in', [0, 5, 40]], (v) => [0, 5, 40].includes(v)],
      [['v__gt', 0], (v) => v > 0],
      [['v__lte', 5], (v) => v <= 5],
      [['v__range', [-7, 5]], (v) => v >= -7 && v <= 5],
      [['o.x__gte', 5], (v) => v >= 5],
      [['l__gt', 30], (v) => v > 30],
      [['v__lt', 2 ** 32], (v) => v < 2 ** 32],
      ...(to === 'double'
        ? ([
            [['v__lt', 0.25], (v: number) => v < 0.25],
            [['v__in', [0.5, 40]], (v: number) => [0.5, 40].includes(v)],
            [['l', 0.5], (v: number) => v === 0.5],
          ] as const)
        : []),
    ];
    for (const [filter, isWanted] of filters) {
      const { rows } = await ask(dataset, { filters: [filter] });
      expect([filter, rows.map(({ n }) => n)]).toEqual([filter, indicesWhere(isWanted)]);
    }

    const sortedAnswer = await ask(dataset, {
      ordering: ['-v', 'n'],
      filters: [{ not: [['v', null]] }],
    });
    expect(sortedAnswer.rows.map(({ v }) => v)).toEqual(knownValues.toSorted((a, b) => b - a));

    const { facets } = await ask(dataset, {
      limit: 0,
      facets: {
        v: { facet_type: 'stats' },
        'o.x': { facet_type: 'terms', limit: 0 },
        l: { facet_type: 'count' },
      },
    });
    const sum = knownValues.reduce((total, v) => total + v, 0);
    expect(facets!['v']).toMatchObject({
      count: knownValues.length,
      min: Math.min(...knownValues),
      max: Math.max(...knownValues),
      sum,
    });
    const counts = new Map<number, number>();
    for (const v of knownValues) counts.set(v, (counts.get(v) ?? 0) + 1);
    const termCounts = (facets!['o.x'] as [number, number][]).map(
      ([v, count]) => [v, count] as const,
    );
    expect(new Map(termCounts)).toEqual(counts);
  });

  test('whole numbers that doubles cannot hold are read as the nearest', async () => {
    const rows = [
      { n: 0, v: 2n ** 53n + 1n },
      { n: 1, v: 7 },
    ];
    const dataset = await engineFixture.newDataset(
      [column('n', 'long'), column('v', 'double')],
      [rows, [{ n: 2, v: 0.5 }]],
      { stored: [[column('n', 'long'), column('v', 'long')], [column('n', 'long'), column('v', 'double')]] },
    ); // prettier-ignore
    expect((await ask(dataset, {})).rows.map(({ v }) => v)).toEqual([2 ** 53, 7, 0.5]);
    expect((await ask(dataset, { filters: [['v', 2 ** 53]] })).total).toBe(1);
    expect((await ask(dataset, { filters: [['v__gt', 0.6]] })).total).toBe(2);
    expect((await ask(dataset, { ordering: ['v'] })).rows.map(({ n }) => n)).toEqual([2, 1, 0]);
  });

  test('strings are searched as the texts that they have become', async () => {
    const dataset = await engineFixture.newDataset(
      [column('n', 'long'), column('t', 'text')],
      [
        [
          { n: 0, t: 'Alpha beta' },
          { n: 1, t: null },
        ],
        [{ n: 2, t: `beta ${'x'.repeat(40_000)}` }],
      ],
      { stored: [[column('n', 'long'), column('t', 'string')], [column('n', 'long'), column('t', 'text')]] },
    ); // prettier-ignore
    const findNumbers = async (body: object) =>
      (await ask(dataset, body)).rows.map(({ n }) => n).toSorted((a, b) => a - b);
    expect(await findNumbers({ filters: [['t', 'beta']] })).toEqual([0, 2]);
    expect(await findNumbers({ filters: [['t__contains', 'alpha']] })).toEqual([0]);
    expect(await findNumbers({ filters: [['t__exact', 'Alpha beta']] })).toEqual([0]);
    expect(await findNumbers({ query: 'alpha' })).toEqual([0]);
    expect(await findNumbers({ query: 't:beta' })).toEqual([0, 2]);
    expect(await findNumbers({ filters: [{ not: [['t', null]] }] })).toEqual([0, 2]);
  });
});
