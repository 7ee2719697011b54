import { expect, test } from '@jest/globals';
import type { Columns, StoredType, Value } from '../../../engine/core/types.js';
import { seed } from '../../seed.js';
import { batchOf, random } from '../store/random.js';
import { encodeFile, firstValueDifference, footerOf, readByHyparquet } from './oracles.js';

const rows = 30_000;

/** Returns the encoding in which a column of random numbers is stored, and expects that hyparquet reads these numbers. */
async function encodingOf(type: StoredType, randomNumber: (next: () => number) => number) {
  const next = random(seed);
  const columns: Columns = [{ name: 'n', physical: 'n', type, isList: false }];
  const values: Value[] = Array.from({ length: rows }, () => {
    const value = randomNumber(next);
    return type === 'long' ? BigInt(value) : value;
  });
  const file = encodeFile(columns, [batchOf(columns, [values], rows, 1n)]);
  const [foundValues] = await readByHyparquet(file, columns);
  expect([seed, firstValueDifference(values, foundValues)]).toEqual([seed, undefined]);
  const { encodings } = footerOf(file).row_groups[0]!.columns[2]!.meta_data!;
  return encodings.find((encoding) => encoding !== 'RLE' && encoding !== 'PLAIN') ?? 'PLAIN';
}

const upTo = (most: number) => (next: () => number) => Math.floor(next() * most);

test.each<[StoredType, string, (next: () => number) => number, string]>([
  [
    'long',
    'positions, half of which repeat',
    (next) => 4_711 * upTo(rows)(next),
    'DELTA_BINARY_PACKED',
  ],
  ['long', 'a hundred values far apart', (next) => 1_000_003 * upTo(100)(next), 'RLE_DICTIONARY'],
  ['long', 'a hundred neighbouring values', upTo(100), 'RLE_DICTIONARY'],
  ['long', 'values of 2^31 and more apart', (next) => upTo(2 ** 50)(next), 'PLAIN'],
  ['integer', 'values of 20 bits', upTo(2 ** 20), 'DELTA_BINARY_PACKED'],
  ['integer', 'values of 30 bits', upTo(2 ** 30), 'PLAIN'],
])(`%s: %s (STRANDLAKE_SEED=${seed})`, async (type, _, randomNumber, encoding) => {
  expect(await encodingOf(type, randomNumber)).toBe(encoding);
});
