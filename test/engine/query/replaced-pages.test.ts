import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { runQuery } from '../../../engine/query/plan/run-query.js';
import {
  column,
  deletedOrReplacedRowsFlag,
  listColumn,
  openEngineFixture,
  type EngineFixture,
  type TestDataset,
} from './dataset.js';

const columns = [
  column('pos', 'integer'),
  column('depth', 'integer'),
  column('frequency', 'double'),
  column('gene', 'string'),
  listColumn(column('tags', 'string')),
];
const records = Array.from({ length: 2_600 }, (_, pos) => ({
  pos,
  depth: (pos * 7_919) % 101,
  frequency: pos % 5 === 0 ? null : Math.sqrt(pos),
  gene: `G${pos % 7}`,
  tags: ['x', 'y', 'z'].slice(0, pos % 4),
}));

/** The number of times that each query is run: from the third time on, copies of columns without their deleted rows are in memory. */
const runCount = 4;

describe.each([0, 2])('records that later segments replace, with %i threads', (threads) => {
  let engineFixture: EngineFixture;
  let dataset: TestDataset;
  const earlierFlag = process.env[deletedOrReplacedRowsFlag];
  beforeAll(async () => {
    process.env[deletedOrReplacedRowsFlag] = 'replaced';
    engineFixture = await openEngineFixture(threads);
    dataset = await engineFixture.newDataset(columns, [
      records.slice(0, 1_500),
      records.slice(1_500),
    ]);
  });
  afterAll(async () => {
    if (earlierFlag === undefined) delete process.env[deletedOrReplacedRowsFlag];
    else process.env[deletedOrReplacedRowsFlag] = earlierFlag;
    await engineFixture.close();
  });

  async function ask(
    body: object,
  ): Promise<{ total: number; positions: number[]; facets: unknown }> {
    const request = parseQuery({ fields: ['pos'], ...body }, dataset.fields);
    const { total, results, facets } = await runQuery(engineFixture.engine, dataset.snapshot, dataset.fields, request); // prettier-ignore
    const foundRecords = JSON.parse(results) as { pos: number }[];
    return {
      total,
      positions: foundRecords.map(({ pos }) => pos),
      facets: facets && JSON.parse(facets),
    };
  }

  test('are interleaved, and some rows are deleted', () => {
    expect(dataset.snapshot.isInterleaved).toBe(true);
    expect(dataset.snapshot.segments.filter(({ deletion }) => deletion)).toHaveLength(2);
  });

  test.each([
    [0, 30],
    [990, 30],
    [900, 1_500],
    [2_590, 30],
    [2_600, 30],
  ])('the page from %i on has its %i records in their order', async (offset, limit) => {
    for (let repetition = 0; repetition < runCount; repetition++)
      expect(await ask({ offset, limit })).toMatchObject({
        total: 2_600,
        positions: records.slice(offset, offset + limit).map(({ pos }) => pos),
      });
  });

  test('the first page is the same with any limit and any fields, however often it is requested', async () => {
    const fieldLists = [['pos'], ['pos', 'gene', 'tags'], ['frequency', 'pos']] as const;
    for (let repetition = 0; repetition < runCount; repetition++)
      for (const limit of [30, 10, 500, 60])
        for (const fields of fieldLists) {
          const request = parseQuery({ fields, limit }, dataset.fields);
          const { results } = await runQuery(engineFixture.engine, dataset.snapshot, dataset.fields, request); // prettier-ignore
          const expectedRecords = records
            .slice(0, limit)
            .map((record) => Object.fromEntries(fields.map((name) => [name, record[name]])));
          expect(JSON.parse(results)).toEqual(expectedRecords);
        }
  });

  test.each([
    ['many', [['depth__gt', 40]], ({ depth }: (typeof records)[number]) => depth > 40],
    ['few', [['depth', 7]], ({ depth }: (typeof records)[number]) => depth === 7],
    [
      'some',
      [
        ['frequency__lte', 40],
        ['gene', 'G3'],
      ],
      ({ frequency, gene }: (typeof records)[number]) =>
        frequency !== null && frequency <= 40 && gene === 'G3',
    ],
    ['most', [['tags', 'x']], ({ tags }: (typeof records)[number]) => tags.includes('x')],
  ])('a filter finds %s of them in their order', async (_, filters, isWanted) => {
    const matchingRecords = records.filter(isWanted);
    for (let repetition = 0; repetition < runCount; repetition++)
      expect(await ask({ filters, offset: 3, limit: 20 })).toMatchObject({
        total: matchingRecords.length,
        positions: matchingRecords.slice(3, 23).map(({ pos }) => pos),
      });
  });

  test('a sort puts records with equal keys in their order', async () => {
    const sortedRecords = records.toSorted((a, b) => b.depth - a.depth || a.pos - b.pos);
    for (let repetition = 0; repetition < runCount; repetition++)
      expect((await ask({ ordering: '-depth', limit: 60 })).positions).toEqual(
        sortedRecords.slice(0, 60).map(({ pos }) => pos),
      );
  });

  test('facets count each record once', async () => {
    const facets = {
      gene: { facet_type: 'terms', limit: 10 },
      tags: { facet_type: 'terms', limit: 10 },
      frequency: { facet_type: 'stats' },
    };
    const firstAnswer = await ask({ limit: 0, facets });
    const frequencies = records.flatMap(({ frequency }) => frequency ?? []);
    expect(firstAnswer.facets).toMatchObject({
      frequency: { count: frequencies.length, max: Math.max(...frequencies) },
    });
    expect(JSON.stringify(firstAnswer.facets)).toContain(
      JSON.stringify(['G0', records.filter(({ gene }) => gene === 'G0').length]),
    );
    for (let repetition = 1; repetition < runCount; repetition++)
      expect(await ask({ limit: 0, facets })).toEqual(firstAnswer);
  });
});
