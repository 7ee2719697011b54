import { expect, test } from '@jest/globals';
import { suggestionFor } from '../../../engine/core/suggestion.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';

const knownNames = [
  'filters',
  'fields',
  'exclude_fields',
  'limit',
  'offset',
  'page',
  'a',
  'ab',
  'gène',
  'Ω1',
];
const alphabet = [...'abcdefgilmnoprstuvwxy_- ÉèΩ1'];

/** Tells whether at most `most` typing mistakes turn one word into the other, found by trying all mistakes. */
function isWithinMistakes(most: number, a: string, b: string): boolean {
  if (most < 0) return false;
  if (a === b) return true;
  const isSwapped = a.length > 1 && b.length > 1 && a[0] === b[1] && a[1] === b[0];
  return (
    (a[0] === b[0] && a !== '' && isWithinMistakes(most, a.slice(1), b.slice(1))) ||
    (a !== '' && b !== '' && isWithinMistakes(most - 1, a.slice(1), b.slice(1))) ||
    (a !== '' && isWithinMistakes(most - 1, a.slice(1), b)) ||
    (b !== '' && isWithinMistakes(most - 1, a, b.slice(1))) ||
    (isSwapped && isWithinMistakes(most - 1, a.slice(2), b.slice(2)))
  );
}

const foldedLetters = (word: string): string => word.toLowerCase().replaceAll(/[\s_-]/g, '');

test(`a misspelt word means the nearest name, by a count of all mistakes (seed ${seed})`, () => {
  const next = seededRandom(seed);
  const belowEnd = (end: number): number => Math.floor(next() * end);
  const pick = <T>(from: readonly T[]): T => from[belowEnd(from.length)]!;
  let suggestionCount = 0;
  for (let i = 0; i < 2_000; i++) {
    let word: string = pick(knownNames);
    for (let n = belowEnd(4); n > 0; n--) {
      const at = belowEnd(word.length + 1);
      const letter = pick(alphabet);
      const [head, tail] = [word.slice(0, at), word.slice(at + 1)];
      word = pick([head + tail, head + letter + (word[at] ?? '') + tail, head + letter + tail]);
    }
    const plainLetters = foldedLetters(word);
    const mistakesOf = (name: string): number => {
      const otherLetters = foldedLetters(name);
      const length = Math.max(plainLetters.length, otherLetters.length);
      const allowedMistakes = length >= 8 ? 2 : length >= 4 ? 1 : 0;
      return (
        [0, 1, 2].find(
          (most) => most <= allowedMistakes && isWithinMistakes(most, plainLetters, otherLetters),
        ) ?? Infinity
      );
    };
    const leastMistakes = Math.min(...knownNames.map(mistakesOf));
    const expectedName = leastMistakes === Infinity || word === '' ? undefined : knownNames.find((name) => mistakesOf(name) === leastMistakes); // prettier-ignore
    const suggestion = suggestionFor(word, knownNames);
    expect([word, suggestion]).toEqual([word, expectedName]);
    if (suggestion !== undefined) suggestionCount += 1;
  }
  expect(suggestionCount).toBeGreaterThan(500);
});
