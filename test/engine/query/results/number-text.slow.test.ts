import { expect, test } from '@jest/globals';
import { ByteSink } from '../../../../engine/parquet/byte-sink.js';
import {
  writeDouble,
  writeFloat,
  writeLong,
  writeNumbers,
} from '../../../../engine/query/results/number-bytes.js';
import {
  dateText,
  doubleText,
  floatText,
  quoteJson,
  normalizeJsonNumbers,
} from '../../../../engine/query/results/number-text.js';
import { Random } from '../random.js';
import { naiveFloat } from './naive-json.js';
import { seed } from '../../../seed.js';

const caseCount = Number(process.env['STRANDLAKE_CASES'] ?? 200_000);

const doubleView = new DataView(new ArrayBuffer(8));

/** Returns a random double: of random bits, a decimal number as people write it, or a neighbour of such a number. */
function randomDouble(random: Random): number {
  const kind = random.integerBelow(4);
  if (kind === 0)
    return Number(
      `${random.integerBelow(10 ** random.integerBelow(17))}e${random.integerBelow(60) - 30}`,
    );
  if (kind === 1) return random.integerBelow(2 ** 53) / 10 ** random.integerBelow(23);
  doubleView.setUint32(0, random.next() * 2 ** 32);
  doubleView.setUint32(4, random.next() * 2 ** 32);
  const doubleOfRandomBits = doubleView.getFloat64(0);
  if (kind === 2) return doubleOfRandomBits;
  doubleView.setFloat64(0, Number(`${random.integerBelow(1e6)}e${random.integerBelow(12) - 9}`));
  doubleView.setInt32(4, doubleView.getInt32(4) + random.integerBelow(3) - 1);
  return doubleView.getFloat64(0);
}

function randomFloat(random: Random): number {
  if (random.chance(0.5)) return Math.fround(randomDouble(random));
  doubleView.setUint32(0, random.next() * 2 ** 32);
  return doubleView.getFloat32(0);
}

function textWrittenBy(write: (out: ByteSink) => void): string {
  const out = new ByteSink(1);
  write(out);
  const text = Buffer.from(out.writtenBytes()).toString();
  out.release();
  return text;
}

const edgeNumbers = [0, -0, 1, -1, 1e15, 1e16, 999_999_999_999_999, 1e21, 1e-6, 1e-7, 123456789.12345678, 0.1, 0.3, 5e-324, Number.MAX_VALUE, 2 ** 53, 2 ** 81, 2 ** 91, 2 ** 807]; // prettier-ignore

test(`doubles are written as ECMAScript writes them (STRANDLAKE_SEED=${seed})`, () => {
  const random = new Random(seed);
  const out = new ByteSink(64);
  const wrongValues: number[] = [];
  for (let i = 0; i < caseCount + edgeNumbers.length; i++) {
    const value = edgeNumbers[i] ?? randomDouble(random);
    if (!Number.isFinite(value)) continue;
    out.endOffset = 0;
    writeDouble(out, Float64Array.of(7, value), 1);
    if (Buffer.from(out.writtenBytes()).toString() !== String(value)) wrongValues.push(value);
  }
  out.release();
  expect(wrongValues).toEqual([]);
  expect([1, -0, 1e21, NaN, Infinity].map(doubleText)).toEqual(['1', '0', '1e+21', 'null', 'null']);
});

test(`32-bit floats are written with the fewest digits that are the same float (STRANDLAKE_SEED=${seed})`, () => {
  const random = new Random(seed);
  const powers = Array.from({ length: 277 }, (_, i) => 2 ** (i - 149));
  const candidates = [...edgeNumbers, ...powers, ...random.list(caseCount / 10, () => random.integerBelow(2 ** 28) / 2 ** random.integerBelow(20)), ...random.list(caseCount / 10, () => randomFloat(random))]; // prettier-ignore
  const values = candidates.map(Math.fround).filter(Number.isFinite);
  const wrongValues = values.filter((value) => floatText(value) !== naiveFloat(value));
  expect(wrongValues).toEqual([]);
  for (const value of values.slice(0, 2_000))
    expect(textWrittenBy((out) => writeFloat(out, -value))).toBe(floatText(-value));
  expect([0.1, 16_777_216, 1e10].map(Math.fround).map(floatText)).toEqual(['0.1', '16777216', '10000000000']); // prettier-ignore
});

test(`many numbers are written as single ones (STRANDLAKE_SEED=${seed})`, () => {
  const random = new Random(seed + 1);
  const subnormal = 2 ** -1060;
  const count = 2_500;
  for (let round = 0; round < caseCount / 20_000; round++) {
    const doubles = Float64Array.from({ length: count }, (_, i) => {
      if (random.chance(0.02)) return random.chance(0.5) ? NaN : -Infinity;
      return random.chance(0.02)
        ? subnormal * random.next()
        : (edgeNumbers[i] ?? randomDouble(random));
    });
    const int32s = new Int32Array(doubles.buffer);
    const longs = new BigInt64Array(doubles.buffer);
    const indices = random.list(count, () =>
      random.chance(0.1) ? -1 : random.integerBelow(count),
    );
    const texts = {
      double: (i: number) => (Number.isFinite(doubles[i]!) ? String(doubles[i]) : null),
      long: (i: number) => String(longs[i]),
      integer: (i: number) => String(int32s[i]),
    };
    for (const type of ['double', 'long', 'integer'] as const) {
      const out = new ByteSink(8);
      out.append(Buffer.from('before'));
      const begins = Int32Array.from(indices);
      const ends = new Int32Array(count);
      writeNumbers(out, type, { int32s }, begins, ends, count);
      const bytes = Buffer.from(out.writtenBytes());
      const foundTexts = indices.map((_, i) => begins[i]! < 0 ? null : bytes.toString('latin1', begins[i], ends[i])); // prettier-ignore
      expect(foundTexts).toEqual(
        indices.map((number) => (number < 0 ? null : texts[type](number))),
      );
      out.release();
    }
    // After the first array of numbers has been written, the WebAssembly kernel also writes single numbers.
    for (const value of doubles.filter(Number.isFinite)) {
      const singleText = textWrittenBy((out) => writeDouble(out, Float64Array.of(value), 0));
      if (singleText !== String(value)) expect(singleText).toBe(String(value));
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
    expect(textWrittenBy((out) => writeLong(out, ...halves))).toBe(String(long));
  }
});

test('texts are quoted with capital digits of control characters', () => {
  expect(quoteJson('\u001f\\u00ab"é')).toBe('"\\u001F\\\\u00ab\\"é"');
});

test('numbers in JSON of the SQL engine are rewritten, texts and whole numbers are not', () => {
  const json =
    '{"1.0":[1.0,-0.0,1e+20,9223372036854775807,"2.0 \\" 3.0",null],"n":1e-05,"d":"2016-05-01"}';
  expect(normalizeJsonNumbers(json)).toBe(
    '{"1.0":[1,0,100000000000000000000,9223372036854775807,"2.0 \\" 3.0",null],"n":0.00001,"d":"2016-05-01"}',
  );
});

test('dates have all digits of their years', () => {
  const microsOf = (iso: string): number => Date.parse(iso) * 1000;
  for (const [iso, text] of [
    ['2026-01-02T00:00:00Z', '"2026-01-02"'],
    ['2026-01-02T03:04:05Z', '"2026-01-02T03:04:05"'],
    ['+010000-01-01T00:00:00Z', '"+010000-01-01"'],
    ['-000001-01-01T00:00:01Z', '"-000001-01-01T00:00:01"'],
  ] as const)
    expect(dateText(microsOf(iso))).toBe(text);
});
