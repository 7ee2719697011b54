import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, test } from '@jest/globals';
import {
  openMemoryExecutor,
  type MemoryExecutor,
} from '../../../../engine/query/memory/memory-executor.js';
import { queryEngine } from '../../../../engine/query/plan/query-engine.js';
import { runQuery } from '../../../../engine/query/plan/run-query.js';
import { parseQuery } from '../../../../engine/query/request/query-request.js';
import { column, openEngineFixture, type EngineFixture, type TestDataset } from '../dataset.js';

/** Leaves 2 MB for columns and dictionaries; a thirty-second is for pages of records. */
const cacheMb = (2 * 32) / 31;
const rowsPerSegment = 10_000;
const segmentCount = 3;
/** The number of distinct strings of a field; together with the indices of the rows, they take half a megabyte. */
const distinctCount = 2_000;
const largeFields = ['a', 'b', 'c', 'd', 'e', 'f'];

describe('dictionaries in the cache', () => {
  let engineFixture: EngineFixture;
  let dataset: TestDataset;
  let memory: MemoryExecutor;
  beforeAll(async () => {
    engineFixture = await openEngineFixture();
    const columns = [
      column('depth', 'integer'),
      column('gene', 'string'),
      ...largeFields.map((name) => column(name, 'string')),
    ];
    const writtenSegments = Array.from({ length: segmentCount }, () =>
      Array.from({ length: rowsPerSegment }, (_, i) => ({
        depth: i,
        gene: `G${i % 3}`,
        ...Object.fromEntries(largeFields.map((name) => [name, valueOf(name, i)])),
      })),
    );
    dataset = await engineFixture.newDataset(columns, writtenSegments);
  });
  afterAll(() => engineFixture.close());
  beforeEach(() => void (memory = openMemoryExecutor({ threads: 0, cacheMb })));
  afterEach(() => memory.close());

  const valueOf = (field: string, i: number): string => `${field} ${i % distinctCount} `.padEnd(100, '-'); // prettier-ignore

  /** Runs a query; returns its total, its facets, and the numbers of cache hits and misses. */
  const ask = async (body: object) => {
    const usageBefore = memory.cacheUsage();
    const { snapshot, fields } = dataset;
    const engine = queryEngine(engineFixture.engine.sql.engine, { memory });
    const answer = await runQuery(engine, snapshot, fields, parseQuery({ limit: 0, ...body }, fields)); // prettier-ignore
    const { hits, misses, bytes, limit } = memory.cacheUsage();
    expect(bytes).toBeLessThanOrEqual(limit);
    const facets = Object.entries(JSON.parse(answer.facets ?? '{}') as Record<string, unknown>);
    return {
      total: answer.total,
      facets,
      hits: hits - usageBefore.hits,
      misses: misses - usageBefore.misses,
    };
  };
  const hotQuery = { filters: [['depth__lt', 100]], facets: { gene: {} } };
  const facetsOf = (names: readonly string[]) => ({
    facets: Object.fromEntries(names.map((name) => [name, { limit: 2 }])),
  });

  test('leave what is hot where it is, however large they are together', async () => {
    for (let i = 0; i < 3; i++) await ask(hotQuery);
    const { hits } = await ask(hotQuery);
    for (let i = 0; i < 2; i++) await ask(facetsOf(largeFields));
    expect(await ask(hotQuery)).toMatchObject({ total: 300, hits, misses: 0 });
  });

  test('are found in part by a query that needs more of them than the cache holds', async () => {
    const firstAnswer = await ask(facetsOf(largeFields));
    for (let i = 0; i < 4; i++) {
      const { hits, facets } = await ask(facetsOf(largeFields));
      expect(hits).toBeGreaterThanOrEqual(9);
      expect(facets).toEqual(firstAnswer.facets);
    }
    for (const [name, buckets] of firstAnswer.facets)
      expect(buckets).toEqual(
        [0, 1].map((i) => [valueOf(name, i), (rowsPerSegment / distinctCount) * segmentCount]),
      );
  });

  test('count as a part of the cache', async () => {
    await ask(facetsOf(['a']));
    const { bytes } = memory.cacheUsage();
    // Each string is there as UTF-8 and as a JavaScript string; the indices have two bytes for each row.
    const leastBytes = 2 * 100 * distinctCount + 2 * rowsPerSegment * segmentCount;
    expect(bytes).toBeGreaterThan(leastBytes);
    expect(bytes).toBeLessThan(2 * leastBytes);
    await ask({ facets: { depth: { facet_type: 'stats' } } });
    const numberBytes = memory.cacheUsage().bytes - bytes;
    expect(numberBytes).toBeGreaterThanOrEqual(4 * rowsPerSegment * segmentCount);
    expect(numberBytes).toBeLessThan(4 * rowsPerSegment * segmentCount + 8_000);
  });
});

describe('files in the cache', () => {
  const fieldCount = 400;
  const names = Array.from({ length: fieldCount }, (_, i) => `f${i}`);
  const fileCount = 12;
  let engineFixture: EngineFixture;
  let dataset: TestDataset;
  let memory: MemoryExecutor;
  beforeAll(async () => {
    engineFixture = await openEngineFixture();
    const columns = [column('note', 'text'), ...names.map((name) => column(name, 'integer'))];
    const writtenSegments = Array.from({ length: fileCount }, (_, segment) =>
      Array.from({ length: 10 }, (_, i) => ({
        note: `word${segment} and word${i}`,
        ...Object.fromEntries(names.map((name, at) => [name, 1_000 * segment + 10 * at + i])),
      })),
    );
    dataset = await engineFixture.newDataset(columns, writtenSegments);
  });
  afterAll(() => engineFixture.close());
  afterEach(() => memory.close());
  /** The least that an opened file takes in memory. */
  const fileBytes = fieldCount * 500;

  const ask = async (body: object) => {
    const { snapshot, fields } = dataset;
    const engine = queryEngine(engineFixture.engine.sql.engine, { memory });
    const { total, results } = await runQuery(engine, snapshot, fields, parseQuery(body, fields));
    const { bytes, limit } = memory.cacheUsage();
    expect(bytes).toBeLessThanOrEqual(limit);
    return { total, results: JSON.parse(results) as readonly Record<string, unknown>[] };
  };

  test('count as a part of it', async () => {
    memory = openMemoryExecutor({ threads: 0, cacheMb: 16 });
    await ask({ filters: [['f7__gte', 0]], limit: 0 });
    const { bytes } = memory.cacheUsage();
    expect(bytes).toBeGreaterThan(fileCount * fileBytes);
    expect(bytes).toBeLessThan(4 * fileCount * fileBytes);
  });

  test('leave room for columns when a server starts', async () => {
    memory = openMemoryExecutor({ threads: 0, cacheMb: 8 });
    const { limit } = memory.cacheUsage();
    const refs = names.slice(0, 3).map((name) => ({ name, path: [name], type: 'integer' }) as const); // prettier-ignore
    await memory.open(dataset.snapshot, refs, {});
    const { bytes } = memory.cacheUsage();
    expect(bytes).toBeGreaterThan(limit / 5);
    expect(bytes).toBeLessThan(limit / 2);
    await memory.warm(dataset.snapshot, refs, {});
    const { misses } = memory.cacheUsage();
    expect(memory.cacheUsage().bytes).toBeLessThan(limit / 2);
    await ask({ facets: { f0: { facet_type: 'stats' }, f2: { facet_type: 'stats' } }, limit: 0 });
    expect(memory.cacheUsage().misses).toBe(misses);
  });

  test.each([0.01, 0.3, 1])('of %d MB can be evicted while queries read them', async (cacheMb) => {
    memory = openMemoryExecutor({ threads: 0, cacheMb });
    for (let round = 0; round < 2; round++) {
      const rareAnswer = await ask({ filters: [['note__contains', 'word11']], limit: 5, fields: ['f3'] }); // prettier-ignore
      expect(rareAnswer.results.map(({ f3 }) => f3)).toEqual([
        11_030, 11_031, 11_032, 11_033, 11_034,
      ]);
      const commonAnswer = await ask({ query: 'word3', limit: 100, fields: ['f1'] });
      expect(commonAnswer.results.map(({ f1 }) => f1 as number).sort((a, b) => a - b)).toEqual(
        names.slice(0, fileCount).flatMap(
          (_, segment) =>
            Array.from({ length: 10 }, (_, i) => 1_000 * segment + 10 + i).filter((_, i) => segment === 3 || i === 3), // prettier-ignore
        ),
      );
      const sortedAnswer = await ask({ ordering: ['-f399'], limit: 3, fields: ['f399'] });
      expect(sortedAnswer.results.map(({ f399 }) => f399)).toEqual([14_999, 14_998, 14_997]);
      expect((await ask({ filters: [['f5__lt', 2_055]], limit: 1 })).total).toBe(25);
    }
  });
});
