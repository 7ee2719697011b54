import { describe, expect, test } from '@jest/globals';
import { AdmissionCache, newCacheStats } from '../../../../engine/query/memory/admission-cache.js';
import { SegmentCache } from '../../../../engine/query/memory/segment-cache.js';
import { Random } from '../random.js';
import { freshSeed } from '../../../seed.js';

/** Requests keys in one query, as the shards do; returns how many of them were cached. */
function countCacheHits(cache: AdmissionCache, keys: readonly string[], bytes = 10): number {
  cache.beginQuery();
  let hits = 0;
  for (const key of keys) {
    if (cache.get(key) !== undefined) hits++;
    else cache.set(key, key, bytes);
  }
  return hits;
}

const numberedKeys = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, i) => `${prefix}${i}`);

describe('the cache of columns', () => {
  test(`holds what was set last, within its limit (STRANDLAKE_SEED=${freshSeed})`, () => {
    const random = new Random(freshSeed);
    const cache = new AdmissionCache(1_000);
    const lastEntries = new Map<string, { value: number; bytes: number }>();
    for (let i = 0; i < 20_000; i++) {
      if (random.chance(0.1)) cache.beginQuery();
      const key = `k${Math.floor(random.integerBelow(40) ** 1.5)}`;
      const cachedValue = cache.get(key);
      if (cachedValue !== undefined) expect(cachedValue).toBe(lastEntries.get(key)?.value);
      else {
        const bytes = random.pick([1, 5, 50, 200, 1_001]);
        cache.set(key, i, bytes);
        lastEntries.set(key, { value: i, bytes });
      }
      expect(cache.size).toBeLessThanOrEqual(1_000);
      const heldEntries = [...lastEntries].filter(([name]) => cache.has(name));
      expect(cache.size).toBe(heldEntries.reduce((sum, [, { bytes }]) => sum + bytes, 0));
    }
    cache.clear();
    expect([cache.size, cache.has('k1')]).toEqual([0, false]);
  });

  test('counts its bytes, what queries found and what they did not, once for each query', () => {
    const counts = newCacheStats();
    const sharedCounts = structuredClone(counts);
    const cache = new AdmissionCache(1_000, counts);
    countCacheHits(cache, ['a', 'b'], 10);
    countCacheHits(cache, ['a', 'a', 'c'], 10);
    expect([...sharedCounts]).toEqual([30, 1, 3]);
    const otherCache = new AdmissionCache(1_000, counts);
    countCacheHits(otherCache, ['d'], 5);
    expect([...sharedCounts]).toEqual([35, 1, 4]);
    otherCache.clear();
    expect([...sharedCounts]).toEqual([30, 1, 4]);
    // A thread that replaces an exited one takes over its counts, and the memory of the exited one is free.
    expect(new SegmentCache(1_000, counts).hasRoom).toBe(true);
    expect([...sharedCounts]).toEqual([0, 1, 4]);
  });

  test('one large query evicts nothing that several queries asked for', () => {
    const cache = new AdmissionCache(1_000);
    const hotKeys = numberedKeys('hot', 80);
    for (let i = 0; i < 3; i++) countCacheHits(cache, hotKeys);
    countCacheHits(cache, numberedKeys('once', 10_000));
    expect(hotKeys.filter((key) => cache.has(key))).toEqual(hotKeys);
  });

  test('says whether a value would stay, as it does once it is added and other values follow it', () => {
    const random = new Random(freshSeed);
    let [stayCount, goneCount] = [0, 0];
    for (let i = 0; i < 300; i++) {
      const cache = new AdmissionCache(1_000);
      const useKeys = (uses: number, keys: readonly string[], bytes: number): void => {
        for (let use = 0; use < uses; use++) countCacheHits(cache, keys, bytes);
      };
      useKeys(1 + random.integerBelow(5), numberedKeys('hot', random.integerBelow(12)), 100);
      const bytes = 1 + random.integerBelow(900);
      const uses = 1 + random.integerBelow(5);
      // Queries that ask for the value and do not add it.
      for (let use = 0; use < uses; use++) {
        cache.beginQuery();
        cache.get('value');
      }
      const expected = cache.wouldStay('value', bytes);
      cache.set('value', 1, bytes);
      for (let other = 0; other < 50; other++) {
        cache.beginQuery();
        cache.get(`other ${other}`);
        cache.set(`other ${other}`, 1, 5);
      }
      expect([i, bytes, cache.has('value')]).toEqual([i, bytes, expected]);
      if (expected) stayCount++;
      else goneCount++;
    }
    expect(Math.min(stayCount, goneCount)).toBeGreaterThan(20);
  });

  test.each([
    [60, 1],
    [100, 1],
    [1_000, 1],
    [10, 8_000],
  ])(
    'what is asked for again and again stays among %i queries for %i other keys each',
    (queryCount, keysPerQuery) => {
      const cache = new AdmissionCache(1_000);
      const hotKeys = numberedKeys('hot', 80);
      for (let i = 0; i < 20; i++) countCacheHits(cache, hotKeys);
      for (let round = 0; round < 3; round++) {
        for (let i = 0; i < queryCount; i++)
          countCacheHits(cache, numberedKeys(`once ${round} ${i} `, keysPerQuery));
        expect(countCacheHits(cache, hotKeys)).toBe(hotKeys.length);
      }
    },
  );

  test('what was loaded before the first query stays while no query is repeated', () => {
    const cache = new AdmissionCache(1_000);
    const loadedKeys = numberedKeys('loaded', 80);
    for (const key of loadedKeys) {
      cache.get(key);
      cache.set(key, key, 10);
    }
    for (let i = 0; i < 200; i++) countCacheHits(cache, numberedKeys(`once ${i} `, i === 99 ? 200_000 : 1 + 10 * i)); // prettier-ignore
    expect(countCacheHits(cache, loadedKeys)).toBe(loadedKeys.length);
  });

  test(`a value is only there while its base is (STRANDLAKE_SEED=${freshSeed})`, () => {
    const random = new Random(freshSeed);
    const cache = new AdmissionCache(1_000);
    const bytesOf = new Map<string, number>();
    const baseOf = new Map<string, string>();
    const set = (key: string, bytes: number, base?: string): void => {
      cache.set(key, key, bytes, base);
      bytesOf.set(key, bytes);
      if (base !== undefined) baseOf.set(key, base);
    };
    let heldDependents = 0;
    for (let i = 0; i < 5_000; i++) {
      if (random.chance(0.3)) cache.beginQuery();
      const base = `base${Math.floor(random.integerBelow(64) ** 0.5)}`;
      const key = `${base} ${random.integerBelow(20)}`;
      if (cache.get(key) === undefined) {
        cache.get(base);
        const maxBytes = cache.maxBytesOf(base);
        const grownBytes = (cache.has(base) ? bytesOf.get(base)! : 0) + random.integerBelow(20);
        set(base, Math.min(grownBytes, maxBytes), undefined);
        expect(cache.has(base)).toBe(true);
        set(key, random.pick([1, 5, 50, 200]), base);
      }
      const heldEntries = [...bytesOf].filter(([name]) => cache.has(name));
      expect(cache.size).toBe(heldEntries.reduce((sum, [, bytes]) => sum + bytes, 0));
      expect(cache.size).toBeLessThanOrEqual(1_000);
      for (const [name] of heldEntries) {
        const ownBase = baseOf.get(name);
        if (ownBase === undefined) continue;
        heldDependents++;
        expect(cache.has(ownBase)).toBe(true);
      }
    }
    expect(heldDependents).toBeGreaterThan(5_000);
  });

  test('a base stays in the cache as long as what needs it is asked for', () => {
    const cache = new AdmissionCache(1_000);
    cache.get('base');
    cache.set('base', 'base', 30);
    for (const key of numberedKeys('hot', 80)) {
      cache.get(key);
      cache.set(key, key, 10, 'base');
    }
    for (let i = 0; i < 3; i++) countCacheHits(cache, numberedKeys('hot', 80));
    for (let i = 0; i < 20; i++) countCacheHits(cache, numberedKeys(`once ${i} `, 200));
    expect(countCacheHits(cache, numberedKeys('hot', 80))).toBe(80);
  });

  test('asking several times in one query counts once', () => {
    const cache = new AdmissionCache(1_000);
    const hotKeys = numberedKeys('hot', 80);
    for (let i = 0; i < 3; i++) countCacheHits(cache, hotKeys);
    countCacheHits(
      cache,
      numberedKeys('once', 500).flatMap((key) => Array.from({ length: 5 }, () => key)),
    );
    expect(hotKeys.filter((key) => cache.has(key))).toEqual(hotKeys);
  });

  test('a query that needs twice the limit finds part of it each time', () => {
    const cache = new AdmissionCache(1_000);
    const keys = numberedKeys('column', 200);
    for (let i = 0; i < 5; i++) countCacheHits(cache, keys);
    // A least-recently-used cache would evict every key before the repeated query requests it again.
    expect(countCacheHits(cache, keys)).toBeGreaterThanOrEqual(80);
  });

  test('what is asked for now takes the place of what was asked for long ago', () => {
    const cache = new AdmissionCache(1_000);
    for (let i = 0; i < 50; i++) countCacheHits(cache, numberedKeys('old', 80));
    const newKeys = numberedKeys('new', 80);
    for (let i = 0; i < 50; i++) countCacheHits(cache, newKeys);
    expect(newKeys.filter((key) => cache.has(key)).length).toBeGreaterThanOrEqual(75);
  });

  test('the queries that asked for a key are counted, with or without a value', () => {
    const cache = new AdmissionCache(1_000);
    const ask = (): number => {
      cache.beginQuery();
      cache.get('a');
      cache.get('a');
      return cache.useCountOf('a');
    };
    expect([cache.useCountOf('a'), ask(), ask(), ask()]).toEqual([0, 1, 2, 3]);
  });

  test('large entries are weighed, too, and one beyond the limit is not added', () => {
    const cache = new AdmissionCache(1_000);
    for (let i = 0; i < 3; i++) countCacheHits(cache, ['a', 'b', 'c'], 300);
    countCacheHits(cache, ['large'], 600);
    expect(['a', 'b', 'c', 'large'].filter((key) => cache.has(key))).toEqual(['a', 'b', 'c']);
    for (let i = 0; i < 4; i++) countCacheHits(cache, ['large'], 600);
    expect(cache.has('large')).toBe(true);
    countCacheHits(cache, ['beyond'], 1_001);
    expect(cache.has('beyond')).toBe(false);
  });
});
