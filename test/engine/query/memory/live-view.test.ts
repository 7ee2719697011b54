import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { entryOverheadBytes } from '../../../../engine/query/memory/admission-cache.js';
import { fieldCacheKey, fieldKeysOf } from '../../../../engine/query/memory/field-keys.js';
import { liveViewOf } from '../../../../engine/query/memory/live-view.js';
import {
  openMemoryExecutor,
  type MemoryExecutor,
} from '../../../../engine/query/memory/memory-executor.js';
import { SegmentCache } from '../../../../engine/query/memory/segment-cache.js';
import type { ShardSnapshot } from '../../../../engine/query/memory/shard-protocol.js';
import { queryEngine } from '../../../../engine/query/plan/query-engine.js';
import { runQuery } from '../../../../engine/query/plan/run-query.js';
import { parseQuery } from '../../../../engine/query/request/query-request.js';
import { withMoreDeleted } from '../../../../engine/store/deletion-vector.js';
import { liveRowCount, segmentFiles, type Snapshot } from '../../../../engine/store/store.js';
import { column, openEngineFixture, type EngineFixture, type TestDataset } from '../dataset.js';

const rows = 6_400;
const segments = 2;
const columns = [
  column('depth', 'integer'),
  column('frequency', 'double'),
  column('gene', 'string'),
  column('name', 'string'),
  ...['a', 'b', 'c', 'd'].map((name) => column(name, 'double')),
];
/** No depth is 51, and no gene is between G3 and G4. */
const recordOf = (segment: number, row: number) => ({
  depth: 2 * (row % 50),
  frequency: (row % 60) / 64,
  gene: `G${row % 7}`,
  name: `name ${segment} ${(row * 7_919) % rows}`,
  ...Object.fromEntries(['a', 'b', 'c', 'd'].map((name, i) => [name, Math.sqrt(row + i)])),
});

describe('columns without deleted rows', () => {
  let bench: EngineFixture;
  let dataset: TestDataset;
  let memory: MemoryExecutor;
  let lastVersion = 1;
  beforeAll(async () => {
    bench = await openEngineFixture();
    const written = Array.from({ length: segments }, (_, segment) =>
      Array.from({ length: rows }, (_, row) => recordOf(segment, row)),
    );
    dataset = await bench.dataset(columns, written);
  });
  afterAll(() => bench.close());
  beforeEach(() => void (memory = openMemoryExecutor({ threads: 0, cacheMb: 16 })));
  afterEach(() => memory.close());

  /** Returns a new version in which these rows of each segment are deleted. */
  function versionWithout(
    ...isDeleted: readonly ((row: number) => boolean)[]
  ): Snapshot & { readonly live: readonly number[] } {
    const changed = dataset.snapshot.segments.map(
      (segment, i) =>
      withMoreDeleted(segment, Int32Array.from({ length: rows }, (_, row) => row).filter(isDeleted[i]!)), // prettier-ignore
    );
    const live = changed.map(liveRowCount);
    return {
      ...dataset.snapshot,
      version: ++lastVersion,
      segments: changed,
      rows: live.reduce((sum, count) => sum + count, 0),
      live,
    };
  }
  const isFifth = (row: number): boolean => row % 5 === 2;
  const isFourth = (row: number): boolean => row % 4 === 1;

  /** Runs a query; returns its total, its facets, by how many bytes the cache grew, and how often a value was in it and was not. */
  const ask = async (snapshot: Snapshot, body: object) => {
    const before = memory.cacheUsage();
    const engine = queryEngine(bench.engine.sql.engine, { memory });
    const request = parseQuery({ limit: 0, ...body }, dataset.fields);
    const { total, facets } = await runQuery(engine, snapshot, dataset.fields, request);
    const { bytes, hits, misses } = memory.cacheUsage();
    return {
      total,
      facets: JSON.parse(facets ?? '{}') as unknown,
      grown: bytes - before.bytes,
      hits: hits - before.hits,
      misses: misses - before.misses,
    };
  };
  const statsOf = (...names: readonly string[]) => ({
    facets: Object.fromEntries(names.map((name) => [name, { facet_type: 'stats' }])),
  });

  test('are copied once when queries ask for them again, and are all that later ones read', async () => {
    const version = versionWithout(isFifth, isFourth);
    const first = await ask(version, statsOf('depth', 'frequency'));
    expect(first.facets).toMatchObject({ depth: { count: version.rows } });
    expect(await ask(version, statsOf('depth', 'frequency'))).toMatchObject({ grown: 0 });
    // A depth takes a byte, and so does the index of one of the 60 frequencies, of eight bytes each.
    const copiedBytes = version.live.map((count) => 2 * (count + entryOverheadBytes) + 60 * 8);
    expect(await ask(version, statsOf('depth', 'frequency'))).toMatchObject({
      facets: first.facets,
      grown: copiedBytes[0]! + copiedBytes[1]!,
    });
    for (let time = 0; time < 2; time++)
      expect(await ask(version, statsOf('depth', 'frequency'))).toEqual({
        total: version.rows,
        facets: first.facets,
        grown: 0,
        hits: 2 * segments,
        misses: 0,
      });
  });

  test('are shared by versions in which the same rows of a segment are deleted', async () => {
    const earlier = versionWithout(isFifth, isFourth);
    const first = await ask(earlier, statsOf('depth'));
    for (let time = 0; time < 2; time++) await ask(earlier, statsOf('depth'));
    const same = { total: earlier.rows, facets: first.facets, grown: 0, hits: 2, misses: 0 };
    expect(await ask(versionWithout(isFifth, isFourth), statsOf('depth'))).toEqual(same);
    const later = versionWithout(isFifth, isFifth);
    const grown: number[] = [];
    for (let time = 0; time < 4; time++) grown.push((await ask(later, statsOf('depth'))).grown);
    expect(grown.filter((bytes) => bytes > 0)).toEqual([later.live[1]! + entryOverheadBytes]);
    expect(await ask(earlier, statsOf('depth'))).toEqual(same);
  });

  test.each([
    ['a sort', { ordering: '-depth', limit: 5 }],
    ['a filter', { filters: [['depth__gte', 90]], limit: 5 }],
  ])('are copied for %s in the order of row ids, too', async (_, body) => {
    const version = { ...versionWithout(isFifth, isFourth), isInterleaved: true };
    await ask(version, body);
    const grown: number[] = [];
    for (let time = 0; time < 4; time++) grown.push((await ask(version, body)).grown);
    expect(grown).toEqual([0, version.rows + segments * entryOverheadBytes, 0, 0]);
  });

  test.each([
    ['a condition on a string that no segment has', [['gene', 'G3x']]],
    ['a condition on a number that no segment has', [['depth', 51]]],
    ['conditions of which the first rules out all rows', [['gene', 'G3x'], ['a__lt', 5]]], // prettier-ignore
  ])('%s loads no other columns, however often it is asked', async (_, filters) => {
    const version = versionWithout(isFifth, isFourth);
    await ask(version, { filters, ...statsOf('b') });
    for (let time = 0; time < 4; time++)
      expect(await ask(version, { filters, ...statsOf('b') })).toMatchObject({
        total: 0,
        grown: 0,
      });
  });

  test.each([
    ['few rows are deleted', (row: number) => row % 32 === 0, ['depth']],
    ['one of them has strings without a dictionary', isFifth, ['depth', 'name']],
  ])('are not made if %s', async (_, isDeleted, names) => {
    const version = versionWithout(isDeleted, isDeleted);
    const facets = Object.fromEntries(names.map((name) => [name, { limit: 1 }]));
    await ask(version, { facets });
    for (let time = 0; time < 4; time++)
      expect(await ask(version, { facets })).toMatchObject({ grown: 0, misses: 0 });
  });

  test('are not made if there is no room for all of them', async () => {
    const version = versionWithout(isFifth, isFourth);
    const body = statsOf('a', 'b', 'c', 'd');
    const first = await ask(version, body);
    const { bytes } = memory.cacheUsage();
    await memory.close();
    const copyBytes = version.live[0]! * 8 + entryOverheadBytes;
    const cacheMb = (bytes + 1.5 * copyBytes) / 1024 / 1024 / (15 / 16);
    memory = openMemoryExecutor({ threads: 0, cacheMb });
    expect(await ask(version, body)).toMatchObject({ grown: bytes });
    for (let time = 0; time < 4; time++)
      expect(await ask(version, body)).toMatchObject({ facets: first.facets, grown: 0 });
  });

  test('of strings leave the cache together with their dictionary', () => {
    const snapshot = versionWithout(isFifth, isFourth);
    const files = segmentFiles(snapshot);
    const own: ShardSnapshot = {
      key: 1,
      datasetId: snapshot.datasetId,
      columns,
      segments: snapshot.segments.map((segment, number) => ({
        ...files[number]!,
        number,
        rows,
        areVariantsPlaced: false,
        deletion: segment.deletion,
      })),
    };
    const segment = own.segments[0]!;
    const gene = { name: 'gene', path: ['gene'], type: 'string' } as const;
    const cache = new SegmentCache(1024 * 1024);
    try {
      cache.beginQuery();
      cache.view(own, segment).column(gene);
      cache.releaseIdle();
      cache.beginQuery();
      expect(liveViewOf(cache, own, segment, [gene])).toBeUndefined();
      cache.beginQuery();
      const view = liveViewOf(cache, own, segment, [gene])!;
      const live = Array.from({ length: rows }, (_, row) => row).filter((row) => !isFifth(row));
      expect(live.map((_, i) => view.rowOf!(i))).toEqual(live);
      expect(view.column(gene)).toMatchObject({ rows: live.length });
      const scope = { snapshot: own, segment, depth: 0, keys: new Map() };
      const { dictionary } = fieldKeysOf(scope, fieldCacheKey(gene));
      const held = cache.admissionCache;
      expect(held.size).toBeGreaterThan(2 * live.length);
      held.set(dictionary, 'another value that finds no room', Infinity);
      expect(held.has(dictionary)).toBe(false);
      expect(held.size).toBe(cache.file(segment).memoryBytes + entryOverheadBytes);
      expect(liveViewOf(cache, own, segment, [gene])).toBeUndefined();
    } finally {
      cache.close();
    }
  });
});
