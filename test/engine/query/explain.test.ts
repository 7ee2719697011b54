import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { deletionVector } from '../../../engine/store/deletion-vector.js';
import { budgets } from '../../../engine/core/budgets.js';
import { liveSegmentTest } from '../../../engine/query/predicate/kinds/prune.js';
import { parseExportParams, parseQuery } from '../../../engine/query/request/query-request.js';
import { runQuery } from '../../../engine/query/plan/run-query.js';
import {
  column,
  enginesUnderTest,
  openEngineFixture,
  type EngineFixture,
  type TestDataset,
  type TestRow,
} from './dataset.js';
import {
  confirmCauses,
  explainQuery,
  type ExplainAnswer,
  type ExplainedNode,
  noAccess,
} from './explained.js';
import { naiveFields, naiveQuery, type NaiveField } from './naive.js';
import type { NaiveFilter } from './naive-filter.js';
import { randomPlainFilters } from './random-filter.js';
import { randomDataset } from './random-records.js';
import { storeGenerated } from './property-check.js';
import { Random } from './random.js';
import { createSixRecordDataset } from './six-records.js';
import { seed } from '../../seed.js';
import { caseCountByTier } from '../../tier.js';

const caseCount = caseCountByTier(60, 240);

let engineFixture: EngineFixture;
let sixRecordDataset: TestDataset;
beforeAll(async () => {
  engineFixture = await openEngineFixture();
  sixRecordDataset = await createSixRecordDataset(engineFixture);
});
afterAll(() => engineFixture.close());

/** A node of an explanation, abbreviated: condition, matches, records left, and child nodes. */
type ShortNode = readonly [string, number, number, ...ShortNode[]];
const toShortNode = ({ condition, matches, left, nodes = [] }: ExplainedNode): ShortNode => [
  condition,
  matches,
  left,
  ...nodes.map(toShortNode),
];
const explainTree = async (body: object): Promise<readonly ShortNode[]> =>
  (await explainQuery(engineFixture, sixRecordDataset, body)).explain.nodes.map(toShortNode);

describe('explain counts the records that each condition matches, and those that remain after it', () => {
  test('filters, in their order', async () => {
    expect(await explainTree({ filters: [['stars__gte', 1], ['pmid', '100'], ['af__lt', 0.01]] })).toEqual([
      ['["stars__gte",1]', 5, 5],
      ['["pmid","100"]', 2, 2],
      ['["af__lt",0.01]', 1, 1],
    ]); // prettier-ignore
  });

  test('nested filters: alternatives and negations count what they add and take away', async () => {
    const filters = [
      ['stars__lte', 3],
      {
        or: [
          ['gene', 'TTN'],
          {
            and: [
              ['gene__prefix', 'BRCA'],
              ['reported', false],
            ],
          },
        ],
      },
      { not: ['pmid', '200'] },
    ];
    expect(await explainTree({ filters })).toEqual([
      ['["stars__lte",3]', 5, 5],
      ['or', 2, 2,
        ['["gene","TTN"]', 1, 1],
        ['and', 1, 1, ['["gene__prefix","BRCA"]', 2, 2], ['["reported",false]', 2, 1]]],
      ['not', 4, 1, ['["pmid","200"]', 2, 1]],
    ]); // prettier-ignore
  });

  test('query strings, entities and the build, behind the filters', async () => {
    const body = {
      filters: [['stars__gt', 0]],
      query: '(gene:BRCA* OR gene:TTN) AND NOT significance:benign',
      entities: [['gene', 'brca1'], ['gene', 'BRCA2'], ['literature', 100]],
      genome_build: 'grch37',
    }; // prettier-ignore
    expect(await explainTree(body)).toEqual([
      ['["stars__gt",0]', 5, 5],
      ['and', 3, 3,
        ['or', 4, 4, ['gene:BRCA*', 3, 3], ['gene:TTN', 1, 1]],
        ['not', 5, 3, ['significance:benign', 1, 1]]],
      ['or', 3, 2, ['["gene","brca1"]', 2, 1], ['["gene","BRCA2"]', 1, 1]],
      ['["literature",100]', 2, 1],
      ['grch37', 6, 1],
    ]); // prettier-ignore
  });

  test.each([
    ['+gene:BRCA1 cancer -reported:false', [['and', 2, 2, ['gene:BRCA1', 2, 2], ['not', 4, 2, ['reported:false', 2, 0]]]]],
    ['-gene:TTN', [['not', 5, 5, ['gene:TTN', 1, 1]]]],
    ['stars:[1 TO 3} af:>0.1', [['or', 4, 4, ['stars:[1 TO 3}', 3, 3], ['af:{0.1 TO *]', 2, 2]]]],
    ['"breast cancer"^2', [['"breast cancer"', 2, 2]]],
    ['_missing_:variant', [['_missing_:variant', 2, 2]]],
    ['bogus:1', [['bogus:1', 0, 0]]],
    ['*', [['*', 6, 6]]],
  ])('the query string %s', async (query, expected) => {
    expect(await explainTree({ query })).toEqual(expected);
  }); // prettier-ignore

  test('nothing asked is no node, and the answer beside it stays the same', async () => {
    const { explain } = await explainQuery(engineFixture, sixRecordDataset, {});
    expect(explain).toMatchObject({ records: 6, nodes: [] });
    for (const body of [{}, { filters: [['stars', 1]], facets: ['pmid'], limit: 1 }, { query: 'cancer' }]) {
      const run = async (more: object): Promise<object> => {
        const request = parseQuery({ ...body, ...more }, sixRecordDataset.fields);
        return runQuery(engineFixture.engine, sixRecordDataset.snapshot, sixRecordDataset.fields, request);
      };
      const plainAnswer = await run({});
      expect(plainAnswer).not.toHaveProperty('explain');
      expect(await run({ explain: true })).toEqual({
        ...plainAnswer,
        took: expect.any(Number),
        explain: expect.any(String),
      });
    } // prettier-ignore
  });

  test('a long list and a long text are shortened', async () => {
    const values = Array.from({ length: 5_000 }, (_, i) => `g${i}`);
    const { explain } = await explainQuery(engineFixture, sixRecordDataset, {
      filters: [['gene__in', [...values, 'TTN']], ['abstract__contains', 'x'.repeat(9_000)]],
    }); // prettier-ignore
    expect(explain.nodes[0]).toMatchObject({ matches: 1, left: 1 });
    expect(explain.nodes[0]!.condition).toContain('"g9","… 4991 more"');
    expect(explain.nodes[1]!.condition.length).toBeLessThan(400);
  });

  test('the widest and the deepest filters that may be (T0)', async () => {
    const wideFilter = Array.from({ length: budgets.filterNodes - 1 }, (_, i) => [
      'stars__gte',
      i - 1,
    ]);
    const { explain } = await explainQuery(engineFixture, sixRecordDataset, {
      filters: [{ and: wideFilter }],
    });
    // The six example records have 0, 1, 1, 2, 3 and 4 stars.
    const lefts = explain.nodes[0]!.nodes!.map(({ left }) => left);
    expect([lefts.length, ...lefts.slice(0, 8)]).toEqual([
      wideFilter.length,
      6,
      6,
      5,
      3,
      2,
      1,
      0,
      0,
    ]);
    let deepFilter: unknown = ['gene', 'TTN'];
    for (let i = 1; i < budgets.filterDepth; i += 1)
      deepFilter = i % 2 ? { not: [deepFilter] } : { or: [deepFilter] };
    let [node] = (await explainQuery(engineFixture, sixRecordDataset, { filters: [deepFilter] }))
      .explain.nodes;
    for (let i = budgets.filterDepth - 1; i > 0; i -= 1) {
      const negations = Math.floor((i + 1) / 2);
      expect(node!.matches).toBe(negations % 2 ? 5 : 1);
      node = node!.nodes![0];
    }
    expect(node).toMatchObject({ condition: '["gene","TTN"]', matches: 1 });
  });

  test('steps that were needed have their times', async () => {
    const listSteps = async (body: object): Promise<readonly string[]> => {
      const { explain } = await explainQuery(engineFixture, sixRecordDataset, {
        filters: [['stars', 1]],
        ...body,
      });
      for (const ms of Object.values(explain.steps)) expect(ms).toBeGreaterThanOrEqual(0);
      return Object.keys(explain.steps).sort();
    };
    expect(await listSteps({})).toEqual(['counts', 'parse', 'read', 'select']);
    expect(await listSteps({ filters: [['stars', 99]] })).toContain('causes');
  });

  test('what columns in memory answered, they count, words of texts included', async () => {
    const memoryFixture = await openEngineFixture(0);
    try {
      const rows = [{ title: 'breast cancer' }, { title: 'cancer of the skin' }, { title: null }];
      const textDataset = await memoryFixture.newDataset([column('title', 'text')], [rows]);
      const body = { query: 'title:cancer AND title:breast', ordering: ['_id'] };
      const { explain } = await explainQuery(memoryFixture, textDataset, body);
      expect(explain.plan.map(({ executor }) => executor)).toContain('memory');
      expect(explain.nodes.map(toShortNode)).toEqual([['and', 1, 1, ['title:cancer', 2, 2], ['title:breast', 1, 1]]]); // prettier-ignore
    } finally {
      await memoryFixture.close();
    }
  });

  test('both executors are explained alike, but for the plan', async () => {
    const memoryFixture = await openEngineFixture(0);
    try {
      const body = { filters: [{ or: [['stars', 1], ['gene', 'TTN']] }], facets: ['gene'] }; // prettier-ignore
      const memoryExplanation = await explainQuery(
        memoryFixture,
        await createSixRecordDataset(memoryFixture),
        body,
      );
      const sqlExplanation = await explainQuery(engineFixture, sixRecordDataset, body);
      const { steps: _, plan, access, ...rest } = memoryExplanation.explain;
      expect(access).toEqual({ ...noAccess, columns: 2 });
      const { steps: __, plan: sqlPlan, ...others } = sqlExplanation.explain;
      expect({ ...memoryExplanation, explain: rest }).toEqual({
        ...sqlExplanation,
        explain: others,
      });
      const executors = (of: typeof plan): unknown =>
        of.map(({ step, executor }) => [step, executor]);
      expect(executors(plan)).toEqual([['select', 'memory'], ['read', 'memory']]); // prettier-ignore
      expect(executors(sqlPlan)).toEqual([['select', 'sql'], ['read', 'reader']]); // prettier-ignore
    } finally {
      await memoryFixture.close();
    }
  });

  test.each([true, 'true', 'True'])('asked for with %j', (explain) => {
    expect(parseQuery({ explain }, sixRecordDataset.fields).explain).toBeDefined();
  });
  test.each([false, 'false', null, '', undefined])('not asked for with %j', (explain) => {
    expect(parseQuery({ explain }, sixRecordDataset.fields)).not.toHaveProperty('explain');
  });
  test.each([1, 0, 'yes', {}, [], [true]])('refuses %j', (explain) => {
    expect(() => parseQuery({ explain, limit: 'x' }, sixRecordDataset.fields)).toThrow(
      expect.objectContaining({
        fields: {
          explain: [expect.stringMatching(/^Expected true or false, not /)],
          limit: [expect.any(String)],
        },
      }),
    );
  });
  test('an export is not explained', () => {
    expect(() => parseExportParams({ explain: true }, sixRecordDataset.fields)).toThrow(
      'Not supported',
    );
    expect(parseExportParams({ explain: false }, sixRecordDataset.fields)).toBeDefined();
  });
});

describe('segments', () => {
  test('those whose statistics rule out a match are skipped', async () => {
    const explainSegments = async (body: object): Promise<ExplainAnswer['segments']> =>
      (await explainQuery(engineFixture, sixRecordDataset, body)).explain.segments;
    expect(await explainSegments({})).toEqual({
      total: 2,
      touched: 2,
      skipped: 0,
      rows: 6,
      paths: sixRecordDataset.snapshot.segments.map(({ path }) => path),
      more: 0,
    });
    // r1 and r2 are in the first segment, the other records in the second.
    expect(await explainSegments({ filters: [['date_created__gte', '2017-01-01']] })).toMatchObject(
      {
        touched: 1,
        skipped: 1,
        rows: 4,
        paths: [sixRecordDataset.snapshot.segments[1]!.path],
      },
    );
    expect(await explainSegments({ filters: [['gene__exact', 'ZZZ']] })).toMatchObject({
      touched: 1,
    });
    expect(await explainSegments({ filters: [['pmid', '99']] })).toMatchObject({
      touched: 0,
      rows: 0,
    });
    expect(await explainSegments({ query: 'bogus:1' })).toMatchObject({ touched: 0, skipped: 2 });
  });

  test('have as many rows as records that are not deleted', async () => {
    const { snapshot, fields } = sixRecordDataset;
    const deletion = deletionVector(Int32Array.of(0));
    const changedSegments = snapshot.segments.map((segment, i) => (i === 1 ? { ...segment, deletion } : segment)); // prettier-ignore
    const dataset = { fields, snapshot: { ...snapshot, segments: changedSegments, rows: 5 } };
    const { explain } = await explainQuery(engineFixture, dataset, {});
    expect([explain.records, explain.segments.rows]).toEqual([5, 5]);
  });
});

test.each(enginesUnderTest)(
  `%s: counts what a loop over the records does, and skips no segment with a match (${caseCount} cases, STRANDLAKE_SEED=${seed}) (Q6)`,
  async (_, threads) => {
    const random = new Random(seed);
    const ownFixture = await openEngineFixture(threads);
    for (let caseIndex = 0; caseIndex < caseCount; caseIndex += 20) {
      const madeData = randomDataset(random);
      const { columns } = madeData;
      const segments = madeData.segments.map(({ rows }) => rows);
      const dataset = await storeGenerated(ownFixture, madeData);
      const knownFields = naiveFields(columns);
      for (let i = 0; i < 20; i += 1) {
        const filters = randomPlainFilters(random, madeData);
        try {
          await compareWithNaive(ownFixture, dataset, segments, knownFields, filters);
        } catch (error) {
          const caseText = JSON.stringify(
            { case: caseIndex + i, columns, filters },
            (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part),
          );
          throw new Error(`STRANDLAKE_SEED=${seed}, ${caseText}`, { cause: error });
        }
      }
    }
    await ownFixture.close();
  },
);

async function compareWithNaive(
  fixture: EngineFixture,
  dataset: TestDataset,
  segments: readonly (readonly TestRow[])[],
  known: readonly NaiveField[],
  filters: readonly NaiveFilter[],
): Promise<void> {
  const rows = segments.flat();
  const count = (...all: readonly NaiveFilter[]): number => naiveCount(rows, known, all);
  const { explain, total } = await explainQuery(fixture, dataset, { filters, limit: 0 });
  expect(total).toBe(count(...filters));
  expect(explain.causes === undefined).toBe(total > 0);
  await confirmCauses(fixture, dataset, explain);
  const visit = (
    nodes: readonly ExplainedNode[],
    expectedFilters: readonly NaiveFilter[],
    context: readonly NaiveFilter[],
    isAnd: boolean,
  ): void => {
    expect(nodes).toHaveLength(expectedFilters.length);
    expectedFilters.forEach((filter, i) => {
      const filtersBefore = isAnd ? [...context, ...expectedFilters.slice(0, i)] : context;
      const { matches, left, nodes: inside = [] } = nodes[i]!;
      expect([matches, left]).toEqual([count(filter), count(...filtersBefore, filter)]);
      if ('and' in filter) visit(inside, filter.and, filtersBefore, true);
      else if ('or' in filter) visit(inside, filter.or, filtersBefore, false);
      else if ('not' in filter) visit(inside, [filter.not], filtersBefore, true);
    });
  };
  visit(explain.nodes, filters, [], true);
  expect(explain.nodes.at(-1)?.left ?? rows.length).toBe(total);
  const { predicate } = parseQuery({ filters }, dataset.fields);
  const skippedFlags = dataset.snapshot.segments.map(
    (segment) => !liveSegmentTest(predicate)(segment),
  );
  expect(skippedFlags.filter(Boolean)).toHaveLength(explain.segments.skipped);
  for (const [i, isSkipped] of skippedFlags.entries())
    if (isSkipped) expect(naiveCount(segments[i]!, known, filters)).toBe(0);
}

function naiveCount(
  rows: readonly TestRow[],
  known: readonly NaiveField[],
  filters: readonly NaiveFilter[],
): number {
  return naiveQuery(rows, known, { filters, ordering: [], limit: 0, offset: 0 }).length;
}
