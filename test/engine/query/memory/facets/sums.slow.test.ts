import { expect, test } from '@jest/globals';
import { Stats } from '../../../../../engine/query/memory/facets/stats-facet.js';
import { StatsTotal } from '../../../../../engine/query/memory/facets/stats-total.js';
import {
  growExpansion,
  nearestDouble,
  type Expansion,
} from '../../../../../engine/query/memory/facets/exact-sum.js';
import { Random } from '../../random.js';
import { seed } from '../../../../seed.js';

/** Returns the exact sum of numbers that are multiples of 2^-200, rounded to the nearest double. */
function exactSum(values: readonly number[]): number {
  const total = values.reduce((sum, value) => sum + scaledInteger(value), 0n);
  const size = total < 0n ? -total : total;
  const cutBits = BigInt(Math.max(0, size.toString(2).length - 56));
  // If any of the bits that are cut off is set, the last remaining bit is set too, so that an inexact half is not rounded as an exact one;
  // the conversion to a double then rounds ties to even.
  const keptBits = (size >> cutBits) | (size & ((1n << cutBits) - 1n) ? 1n : 0n);
  const number = Number(keptBits) * 2 ** (Number(cutBits) - 200);
  return total < 0n ? -number : number;
}

function scaledInteger(value: number): bigint {
  let [top, power] = [value, 0n];
  while (!Number.isInteger(top)) {
    top *= 2;
    power += 1n;
  }
  return BigInt(top) << (200n - power);
}

function randomNumbers(random: Random): number[] {
  const spread = random.pick([0, 3, 30, 60]);
  return random.list(random.integerBelow(20_000), () => {
    const value = (random.next() - random.pick([0, 0.5])) * 2 ** random.integerBelow(spread + 1);
    return random.chance(0.5) ? Number(value.toFixed(2)) : value;
  });
}

test(`an expansion keeps the exact sum of any numbers (STRANDLAKE_SEED=${seed})`, () => {
  const random = new Random(seed);
  for (let i = 0; i < 500; i++) {
    const values = random.list(random.integerBelow(12), () => (random.next() - 0.5) * 2 ** (random.integerBelow(120) - 60)); // prettier-ignore
    if (random.chance(0.5)) values.push(...values.map((value) => -value * random.pick([1, 0.5])));
    const expansion: Expansion = [];
    for (const value of values) growExpansion(expansion, value);
    expect(nearestDouble(expansion) + 0).toBe(exactSum(values) + 0);
  }
});

test(`the sum of doubles is the nearest to the exact one, however they are shared (STRANDLAKE_SEED=${seed})`, () => {
  const random = new Random(seed);
  for (let i = 0; i < 8; i++) {
    const values = randomNumbers(random);
    if (values.length === 0) continue;
    const text = statsByThreads(random, values, 'double');
    expect(JSON.parse(text)).toMatchObject({ count: values.length, sum: exactSum(values) });
    expect(JSON.parse(statsByThreads(random, values, 'double'))).toMatchObject({
      sum: exactSum(values),
    });
  }
});

test(`the sum of whole numbers is exact beyond 2^53 (STRANDLAKE_SEED=${seed})`, () => {
  const random = new Random(seed);
  for (let i = 0; i < 8; i++) {
    const limit = random.pick([2 ** 53, 2 ** 31]);
    const values = random.list(1 + random.integerBelow(30_000), () => Math.floor(random.next() * limit) * random.pick([1, 1, -1])); // prettier-ignore
    const sum = values.reduce((all, value) => all + BigInt(value), 0n);
    expect(statsByThreads(random, values, 'long')).toContain(`"sum":${sum}`);
  }
});

/** Returns statistics computed in parts, as by several threads; each part adds its values, at random, in blocks or to two groups. */
function statsByThreads(
  random: Random,
  values: readonly number[],
  type: 'double' | 'long',
): string {
  const total = new StatsTotal();
  const field = { name: 'x', path: ['x'], type };
  let from = 0;
  while (from < values.length) {
    const to = Math.min(values.length, from + 1 + random.integerBelow(20_000));
    const stats = new Stats(random.chance(0.5));
    const isGrouped = random.chance(0.5);
    while (from < to) {
      const block = Float64Array.from(values.slice(from, Math.min(from + 8192, to)));
      if (isGrouped)
        stats.addGrouped(block, Uint32Array.from(block, () => random.integerBelow(2)), block.length); // prettier-ignore
      else stats.addBlock(block, 0, block.length);
      from += block.length;
    }
    const partial = stats.partial();
    partial.counts.forEach((count, group) => {
      if (count > 0) total.add({ ...partial, moments: undefined }, group);
    });
  }
  return total.answer({ kind: 'stats', field, extended: false });
}
