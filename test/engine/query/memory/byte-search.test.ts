import { expect, test } from '@jest/globals';
import { holdsBytes } from '../../../../engine/query/memory/match/byte-search.js';
import { scanFolded } from '../../../../engine/query/memory/match/string-folded.js';
import { freshSeed } from '../../../seed.js';
import { Random } from '../random.js';

/** Returns random bytes with at most `distinctCount` distinct values. */
function randomBytes(random: Random, size: number, distinctCount: number): Buffer {
  return Buffer.from(Array.from({ length: size }, () => 97 + random.integerBelow(distinctCount)));
}

test(`finds what Node finds (STRANDLAKE_SEED=${freshSeed})`, () => {
  const random = new Random(freshSeed);
  let foundCount = 0;
  for (let i = 0; i < 4_000; i++) {
    const distinctCount = 1 + random.integerBelow(6);
    const text = randomBytes(
      random,
      random.integerBelow(random.chance(0.1) ? 3_000 : 80),
      distinctCount,
    );
    const size = random.integerBelow(9);
    const from = random.integerBelow(text.length + 1);
    const needle = random.chance(0.5)
      ? text.subarray(from, from + size)
      : randomBytes(random, size, distinctCount);
    const isIn = text.includes(needle);
    expect([text.toString(), needle.toString(), holdsBytes(text, needle)]).toEqual([text.toString(), needle.toString(), isIn]); // prettier-ignore
    if (isIn) foundCount++;
  }
  expect(foundCount).toBeGreaterThan(1_000);
  expect(foundCount).toBeLessThan(3_500);
});

test('finds nothing of a longer text before, and searches texts and byte sequences of any size', () => {
  const text = Buffer.from(`${'x'.repeat(50)}needle`);
  const needle = Buffer.from('needle');
  expect(holdsBytes(text, needle)).toBe(true);
  expect(holdsBytes(text.subarray(0, 53), needle)).toBe(false);
  const largeText = Buffer.alloc(3 << 20, 'a');
  expect(holdsBytes(largeText, Buffer.from('ab'))).toBe(false);
  largeText.write('b', largeText.length - 1);
  expect(holdsBytes(largeText, Buffer.from('ab'))).toBe(true);
  const repeated = Buffer.from('abcabd'.repeat(10_000));
  expect(holdsBytes(repeated, Buffer.from(`${'abcabd'.repeat(300)}x`))).toBe(false);
  expect(holdsBytes(repeated, Buffer.from('aXcXbd'))).toBe(false);
});

test(`finds in any letter case the values that a search of each value finds (STRANDLAKE_SEED=${freshSeed})`, () => {
  const random = new Random(freshSeed + 1);
  let foundCount = 0;
  for (let i = 0; i < 150; i++) {
    const letters = random.pick(['abAB', 'abAB@`[{-_ 1', 'abcdefghABCDEFGH_ ', 'abAB é\u212a']);
    const randomWord = (size: number) =>
      random.list(size, () => random.pick([...letters])).join('');
    const words = random.list(1 + random.integerBelow(4), () =>
      randomWord(random.integerBelow(30)),
    );
    // Each value is a word, which may have the needle, or a text that is common to many values.
    const common = random.pick(['x', 'xyzzy-xyz'.repeat(20), 'ab']);
    const wordShare = random.pick([0.01, 0.9]);
    const texts = random.list(random.pick([0, 3, 200, 8_000]), () =>
      random.chance(wordShare) ? random.pick(words) : common,
    );
    const [skippedValues, isTerm] = [random.integerBelow(2), random.chance(0.5)];
    const needle = random.pick([...words, randomWord(1), randomWord(3)]).toLowerCase().replace(/[^\0-\x7f]/g, ''); // prettier-ignore
    const offsets = Uint32Array.from([0, ...texts.map((text) => Buffer.byteLength(text))]);
    for (let value = 1; value < offsets.length; value++) offsets[value]! += offsets[value - 1]!;
    const values = {
      kind: 'strings' as const,
      bytes: Buffer.from(texts.join('')),
      offsets: offsets.subarray(Math.min(skippedValues, texts.length)),
    };
    const searchedTexts = texts.slice(skippedValues);
    const testedValues: number[] = [];
    const verdicts = searchedTexts.map((text) => {
      const lower = text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
      const escaped = needle.replace(/[^\w]/g, '\\$&');
      const edge = isTerm ? '[^a-z0-9\\x80-\uffff]' : '';
      const isIn = new RegExp(isTerm ? `(?:^|${edge})${escaped}(?:$|${edge})` : escaped).test(lower); // prettier-ignore
      // oxlint-disable-next-line no-control-regex -- the range of ASCII
      return isIn ? 1 : /[^\0-\x7f]/.test(text) ? 2 : 0;
    });
    const search = {
      needle: needle === '' ? undefined : Buffer.from(needle),
      isTerm,
      verify: () => 'found' as const,
    };
    const selection = scanFolded(values, searchedTexts.length, search, (value) => {
      testedValues.push(value);
      return value % 2 === 0;
    });
    if (needle === '') expect(selection.every((one) => one === 1)).toBe(true);
    else {
      const expected = verdicts.map((kind, value) => kind === 1 || (kind === 2 && value % 2 === 0) ? 1 : 0); // prettier-ignore
      expect([needle, isTerm, [...selection]]).toEqual([needle, isTerm, expected]);
      expect(testedValues).toEqual(verdicts.flatMap((kind, value) => (kind === 2 ? [value] : [])));
      foundCount += expected.filter((one) => one === 1).length;
    }
  }
  expect(foundCount).toBeGreaterThan(1_000);
});

test('ends the search at a value that the test refuses', () => {
  const bytes = Buffer.from('éaéaéa');
  const offsets = Uint32Array.from([0, 3, 6, 9]);
  const search = { needle: Buffer.from('b'), isTerm: false, verify: () => 'found' as const };
  const testedValues: number[] = [];
  const selection = scanFolded({ kind: 'strings', bytes, offsets }, 3, search, (value) => {
    testedValues.push(value);
    return value === 0 ? true : undefined;
  });
  expect([[...selection], testedValues]).toEqual([
    [1, 0, 0],
    [0, 1],
  ]);
});
