import { expect, test } from '@jest/globals';
import { ByteSink } from '../../../../engine/parquet/byte-sink.js';
import {
  writeDouble,
  writeFloat,
  writeLong,
  writeNumbers,
} from '../../../../engine/query/results/number-bytes.js';
import {
  doubleText,
  floatText,
  quoteJson,
  withPlainNumbers,
} from '../../../../engine/query/results/number-text.js';
import { Random } from '../random.js';
import { naiveFloat } from './naive-json.js';
import { seed } from '../../../seed.js';

const cases = Number(process.env['STRANDLAKE_CASES'] ?? 200_000);

const bits = new DataView(new ArrayBuffer(8));

/** A random double: of random bits, a decimal as people write it, or a neighbour of such a number. */
function randomDouble(random: Random): number {
  const kind = random.below(4);
  if (kind === 0) return Number(`${random.below(10 ** random.below(17))}e${random.below(60) - 30}`);
  if (kind === 1) return random.below(2 ** 53) / 10 ** random.below(23);
  bits.setUint32(0, random.next() * 2 ** 32);
  bits.setUint32(4, random.next() * 2 ** 32);
  const any = bits.getFloat64(0);
  if (kind === 2) return any;
  bits.setFloat64(0, Number(`${random.below(1e6)}e${random.below(12) - 9}`));
  bits.setInt32(4, bits.getInt32(4) + random.below(3) - 1);
  return bits.getFloat64(0);
}

function randomFloat(random: Random): number {
  if (random.chance(0.5)) return Math.fround(randomDouble(random));
  bits.setUint32(0, random.next() * 2 ** 32);
  return bits.getFloat32(0);
}

function writtenText(write: (out: ByteSink) => void): string {
  const out = new ByteSink(1);
  write(out);
  const text = Buffer.from(out.written()).toString();
  out.release();
  return text;
}

const edges = [0, -0, 1, -1, 1e15, 1e16, 999_999_999_999_999, 1e21, 1e-6, 1e-7, 123456789.12345678, 0.1, 0.3, 5e-324, Number.MAX_VALUE, 2 ** 53, 2 ** 81, 2 ** 91, 2 ** 807]; // prettier-ignore

test(`doubles are written as ECMAScript writes them (STRANDLAKE_SEED=${seed})`, () => {
  const random = new Random(seed);
  const out = new ByteSink(64);
  const wrong: number[] = [];
  for (let i = 0; i < cases + edges.length; i++) {
    const value = edges[i] ?? randomDouble(random);
    if (!Number.isFinite(value)) continue;
    out.end = 0;
    writeDouble(out, Float64Array.of(7, value), 1);
    if (Buffer.from(out.written()).toString() !== String(value)) wrong.push(value);
  }
  expect(wrong).toEqual([]);
  expect([1, -0, 1e21, NaN, Infinity].map(doubleText)).toEqual(['1', '0', '1e+21', 'null', 'null']);
});

test(`32-bit floats are written with the fewest digits that are the same float (STRANDLAKE_SEED=${seed})`, () => {
  const random = new Random(seed);
  const powers = Array.from({ length: 277 }, (_, i) => 2 ** (i - 149));
  const some = [...edges, ...powers, ...random.list(cases / 10, () => random.below(2 ** 28) / 2 ** random.below(20)), ...random.list(cases / 10, () => randomFloat(random))]; // prettier-ignore
  const values = some.map(Math.fround).filter(Number.isFinite);
  const wrong = values.filter((value) => floatText(value) !== naiveFloat(value));
  expect(wrong).toEqual([]);
  for (const value of values.slice(0, 2_000))
    expect(writtenText((out) => writeFloat(out, -value))).toBe(floatText(-value));
  expect([0.1, 16_777_216, 1e10].map(Math.fround).map(floatText)).toEqual(['0.1', '16777216', '10000000000']); // prettier-ignore
});

test(`many numbers are written as single ones (STRANDLAKE_SEED=${seed})`, () => {
  const random = new Random(seed + 1);
  const subnormal = 2 ** -1060;
  const count = 2_500;
  for (let round = 0; round < cases / 20_000; round++) {
    const doubles = Float64Array.from({ length: count }, (_, i) => {
      if (random.chance(0.02)) return random.chance(0.5) ? NaN : -Infinity;
      return random.chance(0.02) ? subnormal * random.next() : (edges[i] ?? randomDouble(random));
    });
    const int32s = new Int32Array(doubles.buffer);
    const longs = new BigInt64Array(doubles.buffer);
    const numbers = random.list(count, () => (random.chance(0.1) ? -1 : random.below(count)));
    const texts = {
      double: (i: number) => (Number.isFinite(doubles[i]!) ? String(doubles[i]) : null),
      long: (i: number) => String(longs[i]),
      integer: (i: number) => String(int32s[i]),
    };
    for (const type of ['double', 'long', 'integer'] as const) {
      const out = new ByteSink(8);
      out.append(Buffer.from('before'));
      const begins = Int32Array.from(numbers);
      const ends = new Int32Array(count);
      writeNumbers(out, type, { int32s }, begins, ends, count);
      const bytes = Buffer.from(out.written());
      const found = numbers.map((_, i) => begins[i]! < 0 ? null : bytes.toString('latin1', begins[i], ends[i])); // prettier-ignore
      expect(found).toEqual(numbers.map((number) => (number < 0 ? null : texts[type](number))));
      out.release();
    }
    // Single ones, too, are written by the kernel from then on.
    for (const value of doubles.filter(Number.isFinite)) {
      const alone = writtenText((out) => writeDouble(out, Float64Array.of(value), 0));
      if (alone !== String(value)) expect(alone).toBe(String(value));
    }
  }
});

test('longs are exact', () => {
  const longs = [
    0n,
    1n,
    -1n,
    2n ** 53n + 1n,
    -(2n ** 63n),
    2n ** 63n - 1n,
    999_999_999n,
    10n ** 18n,
  ];
  for (const long of longs) {
    const halves = [Number(BigInt.asIntN(32, long)), Number(long >> 32n)] as const;
    expect(writtenText((out) => writeLong(out, ...halves))).toBe(String(long));
  }
});

test('texts are quoted with capital digits of control characters', () => {
  expect(quoteJson('\u001f\\u00ab"é')).toBe('"\\u001F\\\\u00ab\\"é"');
});

test('numbers in JSON of the SQL engine are rewritten, texts and whole numbers are not', () => {
  const json =
    '{"1.0":[1.0,-0.0,1e+20,9223372036854775807,"2.0 \\" 3.0",null],"n":1e-05,"d":"2016-05-01"}';
  expect(withPlainNumbers(json)).toBe(
    '{"1.0":[1,0,100000000000000000000,9223372036854775807,"2.0 \\" 3.0",null],"n":0.00001,"d":"2016-05-01"}',
  );
});
