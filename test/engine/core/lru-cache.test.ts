import { expect, test } from '@jest/globals';
import { LruCache } from '../../../engine/core/lru-cache.js';

test('what has not been asked for the longest is evicted', () => {
  const evictedValues: number[] = [];
  const cache = new LruCache<string, number>(100, (value) => evictedValues.push(value));
  cache.set('a', 1, 40);
  cache.set('b', 2, 40);
  expect(cache.get('a')).toBe(1);
  cache.set('c', 3, 40);
  expect([cache.get('b'), cache.get('c'), cache.get('a'), cache.size]).toEqual([
    undefined,
    3,
    1,
    80,
  ]);
  expect([evictedValues, [...cache.keys()], cache.values()]).toEqual([[2], ['c', 'a'], [3, 1]]);
  cache.set('d', 4, 100);
  expect([evictedValues, cache.values(), cache.size]).toEqual([[2, 3, 1], [4], 100]);
});

test('without sizes the entries are counted', () => {
  const cache = new LruCache<number, string>(2);
  for (const key of [1, 2, 1, 3]) cache.set(key, `${key}`);
  expect([...cache.keys()]).toEqual([1, 3]);
});

test('what is larger than the limit is not added, and nothing is evicted for it', () => {
  const cache = new LruCache<string, number>(100);
  cache.set('a', 1, 60);
  cache.set('b', 2, 101);
  expect([cache.get('a'), cache.get('b'), cache.size]).toEqual([1, undefined, 60]);
});

test('a value that is replaced or deleted counts no more, and is not evicted', () => {
  const evictedValues: number[] = [];
  const cache = new LruCache<string, number>(100, (value) => evictedValues.push(value));
  cache.set('a', 1, 60);
  cache.set('a', 2, 90);
  expect([cache.get('a'), cache.size]).toEqual([2, 90]);
  cache.delete('a');
  expect(cache.size).toBe(0);
  cache.set('b', 3, 90);
  cache.clear();
  cache.set('c', 4, 90);
  expect([cache.values(), cache.size, evictedValues]).toEqual([[4], 90, []]);
});
