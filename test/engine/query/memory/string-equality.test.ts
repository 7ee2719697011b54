import { expect, test } from '@jest/globals';
import { stringEqualityTest } from '../../../../engine/query/memory/match/string-equality.js';
import {
  rowNumbers,
  type SelectionVector,
} from '../../../../engine/query/memory/match/selection-vector.js';
import { lowerCase } from '../../../../engine/text/fold.js';
import { seed } from '../../../seed.js';
import { Random } from '../random.js';

/** Characters of one to four bytes in UTF-8; the lower cases of the Kelvin sign and of the dotted capital I have other lengths. */
const testCharacters = [
  ...'aAkKzZ09-_~@`',
  '\u212A',
  '\u0130',
  'é',
  'É',
  'ß',
  'Σ',
  'σ',
  '日',
  '🧬',
];

test(`strings without a table of hashes are compared as their lower cases are (seed ${seed})`, () => {
  const random = new Random(seed);
  const text = (): string =>
    Array.from({ length: random.integerBelow(random.chance(0.5) ? 8 : 20) }, () => random.pick(testCharacters)).join(''); // prettier-ignore
  const changed = (value: string): string =>
    random.pick([value, value.toLowerCase(), value.toUpperCase(), value.slice(1), `a${value}`]);
  for (let round = 0; round < 100; round++) {
    const values = Array.from({ length: 200 }, text);
    const wanted = Array.from({ length: 1 + random.integerBelow(12) }, () =>
      random.integerBelow(2) === 0 ? changed(random.pick(values)) : text(),
    );
    for (const ignoreCase of [false, true]) {
      const form = ignoreCase ? lowerCase : (value: string) => value;
      const condition = { kind: 'in' as const, field: textField, values: wanted, ignoreCase };
      const found = stringEqualityTest(condition).find(
        storedStrings(values),
        values.length,
        'all',
        withoutHashes,
      );
      const expected = values.flatMap((value, i) =>
        wanted.some((each) => form(each) === form(value)) ? [i] : [],
      );
      expect([...rowNumbers(found as SelectionVector, values.length)]).toEqual(expected);
    }
  }
});

const textField = { name: 'text', path: ['text'], type: 'string' as const };
const withoutHashes = (): undefined => undefined;

function storedStrings(values: readonly string[]) {
  const bytes = Buffer.from(values.join(''));
  const offsets = new Uint32Array(values.length + 1);
  for (const [i, value] of values.entries())
    offsets[i + 1] = offsets[i]! + Buffer.byteLength(value);
  return { kind: 'strings' as const, bytes, offsets };
}
