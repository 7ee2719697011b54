import { expect, test } from '@jest/globals';
import { parseFloatBytes, parseLongDecimal } from '../../../readers/text/parse-numbers.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';

function floatOf(text: string): number {
  const bytes = Buffer.from(`x${text}y`);
  return parseFloatBytes(bytes, 1, bytes.length - 1);
}

test(`parses numbers as Number does (seed ${seed})`, () => {
  const next = seededRandom(seed);
  const digits = (maxLength: number) =>
    Array.from({ length: Math.floor(next() * (maxLength + 1)) }, () =>
      Math.floor(next() * 10),
    ).join('');
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

/** Returns the next greater double after a positive one. */
function nextDouble(value: number): number {
  const bits = new BigInt64Array(Float64Array.of(value).buffer);
  bits[0]! += 1n;
  return new Float64Array(bits.buffer)[0]!;
}

/** Returns the decimal text of the exact middle between a double from 2^20 to 2^21 and the next one. */
function halfwayText(value: number): string {
  const scaledValue = BigInt(value * 2 ** 40) * 2n + BigInt((nextDouble(value) - value) * 2 ** 40);
  const digits = String(scaledValue * 5n ** 41n); // the decimal number times 10^41
  return `${digits.slice(0, -41)}.${digits.slice(-41)}`.replace(/0+$/, '');
}

test(`long decimals are rounded as Number rounds them (seed ${seed})`, () => {
  const next = seededRandom(seed);
  const digits = (count: number): string =>
    Array.from({ length: count }, () => Math.floor(next() * 10)).join('');
  let knownCount = 0;
  for (let round = 0; round < 50_000; round++) {
    const text = [
      () => String(next() ** 4 * 10 ** Math.floor(next() * 6)),
      () => `${digits(1 + Math.floor(next() * 10))}.${digits(10 + Math.floor(next() * 16))}`,
      () => halfwayText(2 ** 20 * (1 + next())).slice(0, 24 + Math.floor(next() * 8)),
      () => (2n ** 53n + 2n * BigInt(Math.floor(next() * 2 ** 40)) + 1n).toString() + '.0',
    ][round % 4]!();
    const bytes = Buffer.from(next() < 0.2 ? `-${text}` : text);
    const expectedValue = Number(String(bytes));
    const value = parseLongDecimal(bytes, 0, bytes.length);
    if (!Number.isNaN(value)) knownCount++;
    // Numbers are compared without `expect`, which saves seconds.
    if (Number.isNaN(value) || value === expectedValue) {
      if (parseFloatBytes(bytes, 0, bytes.length) === expectedValue) continue;
    }
    throw new Error(`${String(bytes)} is read as ${value}`);
  }
  expect(knownCount).toBeGreaterThan(25_000);
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
