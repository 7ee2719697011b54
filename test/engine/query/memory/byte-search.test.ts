import { expect, test } from '@jest/globals';
import { holdsBytes } from '../../../../engine/query/memory/byte-search.js';
import { freshSeed } from '../../../seed.js';
import { Random } from '../random.js';

/** Returns random bytes with at most `different` distinct values. */
function randomBytes(random: Random, size: number, different: number): Buffer {
  return Buffer.from(Array.from({ length: size }, () => 97 + random.integerBelow(different)));
}

test(`finds what Node finds (STRANDLAKE_SEED=${freshSeed})`, () => {
  const random = new Random(freshSeed);
  let found = 0;
  for (let i = 0; i < 4_000; i++) {
    const different = 1 + random.integerBelow(6);
    const text = randomBytes(
      random,
      random.integerBelow(random.chance(0.1) ? 3_000 : 80),
      different,
    );
    const size = random.integerBelow(9);
    const from = random.integerBelow(text.length + 1);
    const wanted = random.chance(0.5)
      ? text.subarray(from, from + size)
      : randomBytes(random, size, different);
    const isIn = text.includes(wanted);
    expect([text.toString(), wanted.toString(), holdsBytes(text, wanted)]).toEqual([text.toString(), wanted.toString(), isIn]); // prettier-ignore
    if (isIn) found++;
  }
  expect(found).toBeGreaterThan(1_000);
  expect(found).toBeLessThan(3_500);
});

test('finds nothing of a longer text before, and searches texts and byte sequences of any size', () => {
  const text = Buffer.from(`${'x'.repeat(50)}needle`);
  const wanted = Buffer.from('needle');
  expect(holdsBytes(text, wanted)).toBe(true);
  expect(holdsBytes(text.subarray(0, 53), wanted)).toBe(false);
  const large = Buffer.alloc(3 << 20, 'a');
  expect(holdsBytes(large, Buffer.from('ab'))).toBe(false);
  large.write('b', large.length - 1);
  expect(holdsBytes(large, Buffer.from('ab'))).toBe(true);
  const repeated = Buffer.from('abcabd'.repeat(10_000));
  expect(holdsBytes(repeated, Buffer.from(`${'abcabd'.repeat(300)}x`))).toBe(false);
  expect(holdsBytes(repeated, Buffer.from('aXcXbd'))).toBe(false);
});
