import { describe, expect, test } from '@jest/globals';
import { Cache } from '../../../../engine/query/memory/cache.js';

describe('the cache of columns', () => {
  test('forgets what has not been asked for the longest', () => {
    const cache = new Cache(100);
    cache.set('a', 1, 40);
    cache.set('b', 2, 40);
    expect(cache.get('a')).toBe(1);
    cache.set('c', 3, 40);
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([1, undefined, 3]);
    expect(cache.bytes).toBe(80);
  });

  test('does not keep what is larger than itself, and nothing goes for it', () => {
    const cache = new Cache(100);
    cache.set('a', 1, 60);
    cache.set('b', 2, 101);
    expect([cache.get('a'), cache.get('b'), cache.bytes]).toEqual([1, undefined, 60]);
  });

  test('counts a value that is set anew once', () => {
    const cache = new Cache(100);
    cache.set('a', 1, 60);
    cache.set('a', 2, 90);
    expect([cache.get('a'), cache.bytes]).toEqual([2, 90]);
    cache.delete('a');
    expect(cache.bytes).toBe(0);
  });
});
