import { expect, test } from '@jest/globals';
import { floatAt } from '../../../readers/text/numbers.js';
import { random } from '../../random.js';
import { seed } from '../../seed.js';

function floatOf(text: string): number {
  const bytes = Buffer.from(`x${text}y`);
  return floatAt(bytes, 1, bytes.length - 1);
}

test(`parses numbers as Number does (seed ${seed})`, () => {
  const next = random(seed);
  const digits = (most: number) =>
    Array.from({ length: Math.floor(next() * (most + 1)) }, () => Math.floor(next() * 10)).join('');
  for (let round = 0; round < 50_000; round++) {
    const sign = ['', '', '-', '+'][Math.floor(next() * 4)];
    const point = next() < 0.6 ? `.${digits(next() < 0.2 ? 20 : 6)}` : '';
    const exponent =
      next() < 0.4
        ? `${next() < 0.5 ? 'e' : 'E'}${['', '-', '+'][Math.floor(next() * 3)]}${digits(3)}`
        : '';
    const text = `${sign}${digits(next() < 0.2 ? 20 : 6)}${point}${exponent}`;
    const isNumber = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/.test(text);
    expect([text, floatOf(text)]).toEqual([text, isNumber ? Number(text) : NaN]);
  }
});

test.each(['-0', '1e22', '1e23', '1e-22', '1e-23', '9007199254740993', '5e-324', '1e-400'])(
  '%s is exact',
  (text) => {
    expect(floatOf(text)).toBe(Number(text));
  },
);

test.each(['', '-', '.', '1e', '1e+', 'e5', '1.2.3', '0x10', '1_000', ' 1', '1 ', '1e5x', '١'])(
  '"%s" is no number',
  (text) => {
    expect(floatOf(text)).toBe(NaN);
  },
);
