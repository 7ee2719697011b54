import { describe, expect, test } from '@jest/globals';
import {
  ascendingOrder,
  intersectSorted,
  unionSorted,
  subtractSorted,
} from '../../../engine/core/sorted-sets.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';

const randomNumber = seededRandom(seed);
const randomBelow = (limit: number): number => Math.floor(randomNumber() * limit);
const randomNumbers = (most: number, limit: number): number[] =>
  Array.from({ length: randomBelow(most) }, () => randomBelow(limit));

describe(`lists of numbers (STRANDLAKE_SEED=${seed})`, () => {
  test('that ascend have in common, lack and have together what sets say', () => {
    for (let round = 0; round < 300; round++) {
      const limit = 1 + randomBelow(100);
      const [firstSet, secondSet] = [
        new Set(randomNumbers(60, limit)),
        new Set(randomNumbers(60, limit)),
      ];
      const [a, b] = [Int32Array.from(firstSet).sort(), Int32Array.from(secondSet).sort()];
      const numbersWhere = (isThere: (number: number) => boolean): number[] =>
        Array.from({ length: limit }, (_, number) => number).filter(isThere);
      expect([...intersectSorted(a, b)]).toEqual(
        numbersWhere((number) => firstSet.has(number) && secondSet.has(number)),
      );
      expect([...subtractSorted(a, b)]).toEqual(
        numbersWhere((number) => firstSet.has(number) && !secondSet.has(number)),
      );
      expect([...unionSorted(a, b)]).toEqual(
        numbersWhere((number) => firstSet.has(number) || secondSet.has(number)),
      );
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
      const someNumbers = randomNumbers(60, limit).map((number) => number - Math.floor(limit / 2));
      const numbers = [
        ...someNumbers,
        ...someNumbers.slice(0, randomBelow(someNumbers.length + 1)),
      ];
      const expectedOrder = [...numbers.entries()].sort(([, p], [, q]) => p - q).map(([i]) => i);
      for (const list of [numbers, Float64Array.from(numbers)]) {
        const order = ascendingOrder(list) ?? numbers.keys();
        expect([...order]).toEqual(expectedOrder);
      }
    }
  });

  test('that are in order have none of their own', () => {
    for (const numbers of [[], [7], [-1, -1, 0, 2 ** 52]])
      expect(ascendingOrder(numbers)).toBeUndefined();
  });
});
