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
  const randomText = (): string =>
    Array.from({ length: random.integerBelow(random.chance(0.5) ? 8 : 20) }, () => random.pick(testCharacters)).join(''); // prettier-ignore
  const changeText = (value: string): string =>
    random.pick([value, value.toLowerCase(), value.toUpperCase(), value.slice(1), `a${value}`]);
  for (let round = 0; round < 100; round++) {
    const values = Array.from({ length: 200 }, randomText);
    const wantedTexts = Array.from({ length: 1 + random.integerBelow(12) }, () =>
      random.integerBelow(2) === 0 ? changeText(random.pick(values)) : randomText(),
    );
    for (const ignoreCase of [false, true]) {
      const comparedForm = ignoreCase ? lowerCase : (value: string) => value;
      const condition = { kind: 'in' as const, field: textField, values: wantedTexts, ignoreCase };
      const selection = stringEqualityTest(condition).find(
        storedStrings(values),
        values.length,
        'all',
        withoutHashes,
      );
      const expected = values.flatMap((value, i) =>
        wantedTexts.some((each) => comparedForm(each) === comparedForm(value)) ? [i] : [],
      );
      expect([...rowNumbers(selection as SelectionVector, values.length)]).toEqual(expected);
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
