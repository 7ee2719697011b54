import { describe, expect, test } from '@jest/globals';
import { ascendingOrder, common, merged, without } from '../../../engine/core/ascending.js';
import { random } from '../../random.js';
import { seed } from '../../seed.js';

const next = random(seed);
const below = (limit: number): number => Math.floor(next() * limit);
const list = (most: number, limit: number): number[] =>
  Array.from({ length: below(most) }, () => below(limit));

describe(`lists of numbers (STRANDLAKE_SEED=${seed})`, () => {
  test('that ascend have in common, lack and have together what sets say', () => {
    for (let round = 0; round < 300; round++) {
      const limit = 1 + below(100);
      const [x, y] = [new Set(list(60, limit)), new Set(list(60, limit))];
      const [a, b] = [Int32Array.from(x).sort(), Int32Array.from(y).sort()];
      const having = (isThere: (number: number) => boolean): number[] =>
        Array.from({ length: limit }, (_, number) => number).filter(isThere);
      expect([...common(a, b)]).toEqual(having((number) => x.has(number) && y.has(number)));
      expect([...without(a, b)]).toEqual(having((number) => x.has(number) && !y.has(number)));
      expect([...merged(a, b)]).toEqual(having((number) => x.has(number) || y.has(number)));
    }
  });

  test.each([
    ['that are small', 100],
    ['of several digits', 2 ** 20],
    ['of all 32 bits', 2 ** 32],
    ['of more bits', 2 ** 40],
    ['that have no room for their indices in a double', 2 ** 53],
  ])('%s are ordered by them, equal ones as they were', (_, limit) => {
    for (let round = 0; round < 300; round++) {
      const some = list(60, limit).map((number) => number - Math.floor(limit / 2));
      const numbers = [...some, ...some.slice(0, below(some.length + 1))];
      const wanted = [...numbers.entries()].sort(([, p], [, q]) => p - q).map(([i]) => i);
      for (const given of [numbers, Float64Array.from(numbers)]) {
        const order = ascendingOrder(given) ?? numbers.keys();
        expect([...order]).toEqual(wanted);
      }
    }
  });

  test('that are in order have none of their own', () => {
    for (const numbers of [[], [7], [-1, -1, 0, 2 ** 52]])
      expect(ascendingOrder(numbers)).toBeUndefined();
  });
});
