import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  doubleText,
  floatText,
  quoted,
} from '../../../../../engine/query/memory/facets/number-text.js';
import { openBench, type Bench } from '../../dataset.js';
import { Random } from '../../random.js';

const seed = Number(process.env['STRANDLAKE_SEED'] ?? Date.now() % 1_000_000_007);

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

const bits = new DataView(new ArrayBuffer(8));

/** Of any size: random bits, and what people write. */
function randomDouble(random: Random): number {
  if (random.chance(0.5)) return Number(`${random.below(10 ** random.below(9))}e${random.below(44) - 22}`); // prettier-ignore
  bits.setUint32(0, random.next() * 2 ** 32);
  bits.setUint32(4, random.next() * 2 ** 32);
  return bits.getFloat64(0);
}

function randomFloat(random: Random): number {
  if (random.chance(0.3)) return Math.fround(randomDouble(random));
  bits.setUint32(0, random.next() * 2 ** 32);
  return bits.getFloat32(0);
}

async function bySql(type: 'double' | 'float', values: readonly number[]): Promise<unknown[]> {
  const rows = await bench.engine.sql.engine.run('SELECT CAST(unnest($1) AS VARCHAR)', [
    { type, value: values },
  ]);
  return rows.map(([text]) => text);
}

test(`doubles are written as the SQL engine writes them (STRANDLAKE_SEED=${seed})`, async () => {
  const random = new Random(seed);
  const values = [0, -0, 1, -1, 1e15, 1e16, 1e-4, 9.999e-5, 5e-324, Number.MAX_VALUE, 0.1, ...random.list(20_000, () => randomDouble(random))].filter(Number.isFinite); // prettier-ignore
  expect(values.map(doubleText)).toEqual(await bySql('double', values));
  expect([NaN, Infinity, -Infinity].map(doubleText)).toEqual(['null', 'null', 'null']);
});

test(`32-bit floats are written as the SQL engine writes them (STRANDLAKE_SEED=${seed})`, async () => {
  const random = new Random(seed);
  const powers = Array.from({ length: 277 }, (_, i) => 2 ** (i - 149));
  const values = [0, -0, 0.1, 16_777_216, 3.4e38, ...powers, ...random.list(5000, () => random.below(2 ** 28) / 2 ** random.below(12)), ...random.list(20_000, () => randomFloat(random))].map(Math.fround).filter(Number.isFinite); // prettier-ignore
  expect(values.map(floatText)).toEqual(await bySql('float', values));
});

test('texts are quoted as the SQL engine quotes them', async () => {
  const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
  const values = [...ascii, '\\u00ab', '\\\\u00ab\u001f', '\u0080\u2028\ufeff😀', 'é"'];
  const rows = await bench.engine.sql.engine.run('SELECT CAST(to_json(unnest($1)) AS VARCHAR)', [
    { type: 'string', value: values },
  ]);
  expect(values.map(quoted)).toEqual(rows.map(([text]) => text));
});
