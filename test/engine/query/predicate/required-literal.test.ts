import { expect, test } from '@jest/globals';
import { RE2JS } from 're2js';
import { requiredLiteral } from '../../../../engine/query/predicate/text-patterns.js';
import { Random } from '../random.js';
import { freshSeed } from '../../../seed.js';

const givenSeed = process.env['STRANDLAKE_SEED'];
const seeds = givenSeed === undefined ? [1, freshSeed] : [Number(givenSeed)];

const testCharacters = ['a', 'A', 'b', 'k', 'K', '\u212a', 's', 'S', 'ſ', 'i', 'İ', 'É', 'é', '1', '9', ' ', '_', '.', '\n', '\t', '-', '😀', '\u2028', '名', ']', '}', '{', '^', '$', '|', '(', '\\', '4']; // prettier-ignore
const regexParts = [
  '.', '.*', 'a', 'K', 's', 'ab', '\\.', '[a-z]', '[A-Z_]', '[^a]', '[\\w-]', '[]a]', '[^]a]', '[[:alpha:]]', '[[:^digit:]1]', '[a\\]b]', '\\d', '\\D', '\\w', '\\s', '\\S', 'É', '[É-\u212a]', '😀', '^', '$', '\\b', '\\B', '\\pL', '\\p{Greek}', '\\PL',
  '\\x{e9}', '\\x41', '\\n', '\\A', '\\z', '-', '_', '\\]', '\\}', '\\(', '\\[', '[(]', '[|]', '\\|', '名', ' ', '{', '}', '{,2}', ']', '\\07', '\\\\', '\\Qa.b\\E', '(?i)a', '(?i:b)', '(?P<n>a)', '!', '&',
]; // prettier-ignore
const quantifiers = ['', '', '', '', '*', '+', '?', '{2}', '{0,2}', '{1,}', '*?', '+?', '??', '{0}', '+', '{0,}?']; // prettier-ignore

function randomPattern(random: Random, depth: number): string {
  const patternParts = random.list(random.integerBelow(4) + (depth > 0 ? 1 : 0), () => {
    if (depth === 3 || random.chance(0.85))
      return random.pick(regexParts) + random.pick(quantifiers);
    const otherAlternative = random.chance(0.5) ? `|${randomPattern(random, depth + 1)}` : '';
    return `${random.pick(['(', '(?:'])}${randomPattern(random, depth + 1)}${otherAlternative})${random.pick(quantifiers)}`;
  });
  return patternParts.join('');
}

test.each(seeds)('every match of a pattern contains its required literal (STRANDLAKE_SEED=%i)', (seed) => {
  const random = new Random(seed);
  let [matchCount, literalCount] = [0, 0];
  for (let i = 0; i < 1_500; i++) {
    const source = random.pick(['', '', '', '(?i)', '(?s)', '(?is)']) + randomPattern(random, 0);
    let compiled: RE2JS;
    try {
      compiled = RE2JS.compile(source);
    } catch {
      continue;
    }
    const literal = requiredLiteral(source);
    literalCount += literal === '' ? 0 : 1;
    // Strings built from parts of the pattern match it more often than random ones.
    const nearText = Array.from(source.replaceAll(/\\(?=[^A-Za-z0-9])|[*+?]/g, ''));
    for (let j = 0; j < 40; j++) {
      const text = random.list(random.integerBelow(7), () => random.pick(random.chance(0.6) && nearText.length > 0 ? nearText : testCharacters)).join('');
      if (!compiled.testExact(text)) continue;
      matchCount += 1;
      expect({ seed, source, literal, isThere: text.includes(literal) ? true : text }).toEqual({ seed, source, literal, isThere: true });
    }
  }
  expect(matchCount).toBeGreaterThan(1_000);
  expect(literalCount).toBeGreaterThan(75);
}); // prettier-ignore

test.each([
  ['rs123[0-4]*9[0-9]*', 'rs123'],
  ['a(bc)+d', 'a'],
  ['(?:ab|cd)xyz', ''],
  ['ab?cd', 'cd'],
  ['ab+cde', 'cde'],
  ['^abc$', 'abc'],
  ['(?i)abc-12', ''],
  ['(?s)abc.*', 'abc'],
  ['a{2,3}b', 'b'],
  ['a|b', ''],
  ['.*', ''],
  ['x*', ''],
  ['\\.\\x41bc', 'bc'],
  ['.*:c\\.76.*', ':c.76'],
])('every match of %s contains "%s"', (source, literal) => {
  expect(requiredLiteral(source)).toBe(literal);
});
