import { expect, test } from '@jest/globals';
import { compareCodePoints } from '../../../engine/core/compare-code-points.js';
import { Random } from '../query/random.js';

const seed = Number(process.env['STRANDLAKE_SEED'] ?? 20_261_121);

test(`strings compare as their UTF-8 does (STRANDLAKE_SEED=${seed})`, () => {
  const random = new Random(seed);
  const letters = ['a', 'b', 'é', '\uE000', '\uFFFD', '😀', '𝄞', '\u{10FFFF}', ''];
  const randomText = (): string =>
    Array.from({ length: random.integerBelow(4) }, () => random.pick(letters)).join('');
  for (let i = 0; i < 20_000; i++) {
    const [a, b] = [randomText(), randomText()];
    const expected = Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect([a, b, Math.sign(compareCodePoints(a, b))]).toEqual([a, b, expected]);
  }
});
