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

const rowsPerSegment = 6_400;
const segmentCount = 2;
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
  name: `name ${segment} ${(row * 7_919) % rowsPerSegment}`,
  ...Object.fromEntries(['a', 'b', 'c', 'd'].map((name, i) => [name, Math.sqrt(row + i)])),
});

describe('columns without deleted rows', () => {
  let engineFixture: EngineFixture;
  let dataset: TestDataset;
  let memory: MemoryExecutor;
  let lastVersion = 1;
  beforeAll(async () => {
    engineFixture = await openEngineFixture();
    const writtenSegments = Array.from({ length: segmentCount }, (_, segment) =>
      Array.from({ length: rowsPerSegment }, (_, row) => recordOf(segment, row)),
    );
    dataset = await engineFixture.newDataset(columns, writtenSegments);
  });
  afterAll(() => engineFixture.close());
  beforeEach(() => void (memory = openMemoryExecutor({ threads: 0, cacheMb: 16 })));
  afterEach(() => memory.close());

  /** Returns a new version in which the rows for which the function of their segment returns true are deleted. */
  function versionWithout(
    ...isDeleted: readonly ((row: number) => boolean)[]
  ): Snapshot & { readonly live: readonly number[] } {
    const changedSegments = dataset.snapshot.segments.map(
      (segment, i) =>
      withMoreDeleted(segment, Int32Array.from({ length: rowsPerSegment }, (_, row) => row).filter(isDeleted[i]!)), // prettier-ignore
    );
    const liveRowCounts = changedSegments.map(liveRowCount);
    return {
      ...dataset.snapshot,
      version: ++lastVersion,
      segments: changedSegments,
      rows: liveRowCounts.reduce((sum, count) => sum + count, 0),
      live: liveRowCounts,
    };
  }
  const isFifth = (row: number): boolean => row % 5 === 2;
  const isFourth = (row: number): boolean => row % 4 === 1;

  /** Runs a query; returns its total, its facets, by how many bytes the cache grew, and how often a value was in it and was not. */
  const ask = async (snapshot: Snapshot, body: object) => {
    const usageBefore = memory.cacheUsage();
    const engine = queryEngine(engineFixture.engine.sql.engine, { memory });
    const request = parseQuery({ limit: 0, ...body }, dataset.fields);
    const { total, facets } = await runQuery(engine, snapshot, dataset.fields, request);
    const { bytes, hits, misses } = memory.cacheUsage();
    return {
      total,
      facets: JSON.parse(facets ?? '{}') as unknown,
      grownBytes: bytes - usageBefore.bytes,
      hits: hits - usageBefore.hits,
      misses: misses - usageBefore.misses,
    };
  };
  const statsOf = (...names: readonly string[]) => ({
    facets: Object.fromEntries(names.map((name) => [name, { facet_type: 'stats' }])),
  });

  test('are copied once when queries ask for them again, and are all that later ones read', async () => {
    const version = versionWithout(isFifth, isFourth);
    const firstAnswer = await ask(version, statsOf('depth', 'frequency'));
    expect(firstAnswer.facets).toMatchObject({ depth: { count: version.rows } });
    expect(await ask(version, statsOf('depth', 'frequency'))).toMatchObject({ grownBytes: 0 });
    // A depth takes a byte, and so does the index of one of the 60 frequencies, of eight bytes each.
    const copiedBytes = version.live.map((count) => 2 * (count + entryOverheadBytes) + 60 * 8);
    expect(await ask(version, statsOf('depth', 'frequency'))).toMatchObject({
      facets: firstAnswer.facets,
      grownBytes: copiedBytes[0]! + copiedBytes[1]!,
    });
    for (let repetition = 0; repetition < 2; repetition++)
      expect(await ask(version, statsOf('depth', 'frequency'))).toEqual({
        total: version.rows,
        facets: firstAnswer.facets,
        grownBytes: 0,
        hits: 2 * segmentCount,
        misses: 0,
      });
  });

  test('are shared by versions in which the same rows of a segment are deleted', async () => {
    const earlierVersion = versionWithout(isFifth, isFourth);
    const firstAnswer = await ask(earlierVersion, statsOf('depth'));
    for (let repetition = 0; repetition < 2; repetition++)
      await ask(earlierVersion, statsOf('depth'));
    const expectedAnswer = {
      total: earlierVersion.rows,
      facets: firstAnswer.facets,
      grownBytes: 0,
      hits: 2,
      misses: 0,
    };
    expect(await ask(versionWithout(isFifth, isFourth), statsOf('depth'))).toEqual(expectedAnswer);
    const laterVersion = versionWithout(isFifth, isFifth);
    const grownBytes: number[] = [];
    for (let repetition = 0; repetition < 4; repetition++)
      grownBytes.push((await ask(laterVersion, statsOf('depth'))).grownBytes);
    expect(grownBytes.filter((bytes) => bytes > 0)).toEqual([
      laterVersion.live[1]! + entryOverheadBytes,
    ]);
    expect(await ask(earlierVersion, statsOf('depth'))).toEqual(expectedAnswer);
  });

  test.each([
    ['a sort', { ordering: '-depth', limit: 5 }],
    ['a filter', { filters: [['depth__gte', 90]], limit: 5 }],
  ])('are copied for %s in the order of row ids, too', async (_, body) => {
    const version = { ...versionWithout(isFifth, isFourth), isInterleaved: true };
    await ask(version, body);
    const grownBytes: number[] = [];
    for (let repetition = 0; repetition < 4; repetition++)
      grownBytes.push((await ask(version, body)).grownBytes);
    expect(grownBytes).toEqual([0, version.rows + segmentCount * entryOverheadBytes, 0, 0]);
  });

  test.each([
    ['a condition on a string that no segment has', [['gene', 'G3x']]],
    ['a condition on a number that no segment has', [['depth', 51]]],
    ['conditions of which the first rules out all rows', [['gene', 'G3x'], ['a__lt', 5]]], // prettier-ignore
  ])('%s loads no other columns, however often it is asked', async (_, filters) => {
    const version = versionWithout(isFifth, isFourth);
    await ask(version, { filters, ...statsOf('b') });
    for (let repetition = 0; repetition < 4; repetition++)
      expect(await ask(version, { filters, ...statsOf('b') })).toMatchObject({
        total: 0,
        grownBytes: 0,
      });
  });

  test.each([
    ['few rows are deleted', (row: number) => row % 32 === 0, ['depth']],
    ['one of them has strings without a dictionary', isFifth, ['depth', 'name']],
  ])('are not made if %s', async (_, isDeleted, names) => {
    const version = versionWithout(isDeleted, isDeleted);
    const facets = Object.fromEntries(names.map((name) => [name, { limit: 1 }]));
    await ask(version, { facets });
    for (let repetition = 0; repetition < 4; repetition++)
      expect(await ask(version, { facets })).toMatchObject({ grownBytes: 0, misses: 0 });
  });

  test('are not made if there is no room for all of them', async () => {
    const version = versionWithout(isFifth, isFourth);
    const body = statsOf('a', 'b', 'c', 'd');
    const firstAnswer = await ask(version, body);
    const { bytes } = memory.cacheUsage();
    await memory.close();
    const copyBytes = version.live[0]! * 8 + entryOverheadBytes;
    const cacheMb = (bytes + 1.5 * copyBytes) / 1024 / 1024 / (15 / 16);
    memory = openMemoryExecutor({ threads: 0, cacheMb });
    expect(await ask(version, body)).toMatchObject({ grownBytes: bytes });
    for (let repetition = 0; repetition < 4; repetition++)
      expect(await ask(version, body)).toMatchObject({ facets: firstAnswer.facets, grownBytes: 0 });
  });

  test('of strings leave the cache together with their dictionary', () => {
    const snapshot = versionWithout(isFifth, isFourth);
    const files = segmentFiles(snapshot);
    const shardSnapshot: ShardSnapshot = {
      key: 1,
      datasetId: snapshot.datasetId,
      columns,
      segments: snapshot.segments.map((segment, number) => ({
        ...files[number]!,
        number,
        rows: rowsPerSegment,
        areVariantsPlaced: false,
        deletion: segment.deletion,
      })),
    };
    const segment = shardSnapshot.segments[0]!;
    const gene = { name: 'gene', path: ['gene'], type: 'string' } as const;
    const cache = new SegmentCache(1024 * 1024);
    try {
      cache.beginQuery();
      cache.view(shardSnapshot, segment).column(gene);
      cache.releaseIdle();
      cache.beginQuery();
      expect(liveViewOf(cache, shardSnapshot, segment, [gene])).toBeUndefined();
      cache.beginQuery();
      const view = liveViewOf(cache, shardSnapshot, segment, [gene])!;
      const liveRows = Array.from({ length: rowsPerSegment }, (_, row) => row).filter(
        (row) => !isFifth(row),
      );
      expect(liveRows.map((_, i) => view.rowOf!(i))).toEqual(liveRows);
      expect(view.column(gene)).toMatchObject({ rows: liveRows.length });
      const scope = { snapshot: shardSnapshot, segment, depth: 0, keys: new Map() };
      const { dictionary } = fieldKeysOf(scope, fieldCacheKey(gene));
      const admissionCache = cache.admissionCache;
      expect(admissionCache.size).toBeGreaterThan(2 * liveRows.length);
      admissionCache.set(dictionary, 'another value that finds no room', Infinity);
      expect(admissionCache.has(dictionary)).toBe(false);
      expect(admissionCache.size).toBe(cache.file(segment).memoryBytes + entryOverheadBytes);
      expect(liveViewOf(cache, shardSnapshot, segment, [gene])).toBeUndefined();
    } finally {
      cache.close();
    }
  });
});
