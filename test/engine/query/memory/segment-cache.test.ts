import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, test } from '@jest/globals';
import {
  openMemoryExecutor,
  type MemoryExecutor,
} from '../../../../engine/query/memory/memory-executor.js';
import { queryEngine } from '../../../../engine/query/plan/query-engine.js';
import { runQuery } from '../../../../engine/query/plan/query.js';
import { parseQuery } from '../../../../engine/query/request/request.js';
import { column, openEngineFixture, type EngineFixture, type TestDataset } from '../dataset.js';

const cacheMb = 2;
const rows = 10_000;
const segments = 3;
/** The distinct strings of a field; those of one field and their index take half a megabyte. */
const distinct = 2_000;
const large = ['a', 'b', 'c', 'd', 'e', 'f'];

describe('dictionaries in the cache', () => {
  let bench: EngineFixture;
  let dataset: TestDataset;
  let memory: MemoryExecutor;
  beforeAll(async () => {
    bench = await openEngineFixture();
    const columns = [
      column('depth', 'integer'),
      column('gene', 'string'),
      ...large.map((name) => column(name, 'string')),
    ];
    const written = Array.from({ length: segments }, () =>
      Array.from({ length: rows }, (_, i) => ({
        depth: i,
        gene: `G${i % 3}`,
        ...Object.fromEntries(large.map((name) => [name, valueOf(name, i)])),
      })),
    );
    dataset = await bench.dataset(columns, written);
  });
  afterAll(() => bench.close());
  beforeEach(() => void (memory = openMemoryExecutor({ threads: 0, cacheMb })));
  afterEach(() => memory.close());

  const valueOf = (field: string, i: number): string => `${field} ${i % distinct} `.padEnd(100, '-'); // prettier-ignore

  /** Runs a query; returns its facets, and how often it found a value in the cache and did not. */
  const ask = async (body: object) => {
    const before = memory.cacheUsage();
    const { snapshot, fields } = dataset;
    const engine = queryEngine(bench.engine.sql.engine, { memory });
    const answer = await runQuery(engine, snapshot, fields, parseQuery({ limit: 0, ...body }, fields)); // prettier-ignore
    const { hits, misses, bytes, limit } = memory.cacheUsage();
    expect(bytes).toBeLessThanOrEqual(limit);
    const facets = Object.entries(JSON.parse(answer.facets ?? '{}') as Record<string, unknown>);
    return {
      total: answer.total,
      facets,
      hits: hits - before.hits,
      misses: misses - before.misses,
    };
  };
  const hot = { filters: [['depth__lt', 100]], facets: { gene: {} } };
  const facetsOf = (names: readonly string[]) => ({
    facets: Object.fromEntries(names.map((name) => [name, { limit: 2 }])),
  });

  test('leave what is hot where it is, however large they are together', async () => {
    for (let i = 0; i < 3; i++) await ask(hot);
    const { hits } = await ask(hot);
    for (let i = 0; i < 2; i++) await ask(facetsOf(large));
    expect(await ask(hot)).toMatchObject({ total: 300, hits, misses: 0 });
  });

  test('are found in part by a query that needs more of them than the cache holds', async () => {
    const first = await ask(facetsOf(large));
    for (let i = 0; i < 4; i++) {
      const { hits, facets } = await ask(facetsOf(large));
      expect(hits).toBeGreaterThanOrEqual(9);
      expect(facets).toEqual(first.facets);
    }
    for (const [name, buckets] of first.facets)
      expect(buckets).toEqual([0, 1].map((i) => [valueOf(name, i), (rows / distinct) * segments]));
  });

  test('count as a part of the cache', async () => {
    await ask(facetsOf(['a']));
    const { bytes } = memory.cacheUsage();
    // Each string is there as UTF-8 and as a JavaScript string; the indices have two bytes for each row.
    const least = 2 * 100 * distinct + 2 * rows * segments;
    expect(bytes).toBeGreaterThan(least);
    expect(bytes).toBeLessThan(2 * least);
    await ask({ facets: { depth: { facet_type: 'stats' } } });
    const ofNumbers = memory.cacheUsage().bytes - bytes;
    expect(ofNumbers).toBeGreaterThanOrEqual(4 * rows * segments);
    expect(ofNumbers).toBeLessThan(4 * rows * segments + 8_000);
  });
});
