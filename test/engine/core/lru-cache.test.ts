import { expect, test } from '@jest/globals';
import { LruCache } from '../../../engine/core/lru-cache.js';

test('what has not been asked for the longest is evicted', () => {
  const evicted: number[] = [];
  const map = new LruCache<string, number>(100, (value) => evicted.push(value));
  map.set('a', 1, 40);
  map.set('b', 2, 40);
  expect(map.get('a')).toBe(1);
  map.set('c', 3, 40);
  expect([map.get('b'), map.get('c'), map.get('a'), map.size]).toEqual([undefined, 3, 1, 80]);
  expect([evicted, [...map.keys()], map.values()]).toEqual([[2], ['c', 'a'], [3, 1]]);
  map.set('d', 4, 100);
  expect([evicted, map.values(), map.size]).toEqual([[2, 3, 1], [4], 100]);
});

test('without sizes the entries are counted', () => {
  const map = new LruCache<number, string>(2);
  for (const key of [1, 2, 1, 3]) map.set(key, `${key}`);
  expect([...map.keys()]).toEqual([1, 3]);
});

test('what is larger than the limit is not added, and nothing is evicted for it', () => {
  const map = new LruCache<string, number>(100);
  map.set('a', 1, 60);
  map.set('b', 2, 101);
  expect([map.get('a'), map.get('b'), map.size]).toEqual([1, undefined, 60]);
});

test('a value that is replaced or deleted counts no more, and is not evicted', () => {
  const evicted: number[] = [];
  const map = new LruCache<string, number>(100, (value) => evicted.push(value));
  map.set('a', 1, 60);
  map.set('a', 2, 90);
  expect([map.get('a'), map.size]).toEqual([2, 90]);
  map.delete('a');
  expect(map.size).toBe(0);
  map.set('b', 3, 90);
  map.clear();
  map.set('c', 4, 90);
  expect([map.values(), map.size, evicted]).toEqual([[4], 90, []]);
});
