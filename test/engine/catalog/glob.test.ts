import { expect, test } from '@jest/globals';
import { compileGlob, hasWildcard, literalPrefix } from '../../../engine/catalog/glob.js';
import { seededRandomBelow } from './catalog-fixture.js';

/** Matches a pattern by the obvious definition, in time exponential in the number of stars. */
function matchesNaively(pattern: string, text: string): boolean {
  if (pattern === '') return text === '';
  if (pattern.startsWith('**')) {
    const restOfPattern = pattern.replace(/^\*+/, '');
    return Array.from(text, (_, i) => i)
      .concat(text.length)
      .some((i) => matchesNaively(restOfPattern, text.slice(i)));
  }
  if (pattern.startsWith('*')) {
    const restOfPattern = pattern.slice(1);
    for (let i = 0; i <= text.length; i++) {
      if (matchesNaively(restOfPattern, text.slice(i))) return true;
      if (text[i] === '/') return false;
    }
    return false;
  }
  if (text === '') return false;
  const isSame = pattern[0] === '?' ? text[0] !== '/' : pattern[0] === text[0];
  return isSame && matchesNaively(pattern.slice(1), text.slice(1));
}

test('agrees with a naive matcher on random patterns (seed 7)', () => {
  const random = seededRandomBelow(7);
  const pick = (letters: string, length: number): string =>
    Array.from({ length: random(length + 1) }, () => letters[random(letters.length)]).join('');
  for (let i = 0; i < 5_000; i++) {
    const pattern = pick('ab/*?**', 6);
    const text = pick('ab/', 7);
    expect([pattern, text, compileGlob(pattern)(text)]).toEqual([
      pattern,
      text,
      matchesNaively(pattern, text),
    ]);
  }
});

test('Q3: patterns that are exponential for backtracking matchers terminate', () => {
  const text = `/${'a'.repeat(100_000)}b`;
  expect(compileGlob('*a'.repeat(30))(text)).toBe(false);
  expect(compileGlob(`**${'*a'.repeat(30)}**`)(text)).toBe(true);
  expect(compileGlob('**'.repeat(500))(text)).toBe(true);
});

test('all characters but stars and question marks are literal', () => {
  expect(compileGlob('/a.c[x]{y}\\(+$^|')('/a.c[x]{y}\\(+$^|')).toBe(true);
  expect(compileGlob('/a.c')('/abc')).toBe(false);
  expect(compileGlob('/?')('/😀')).toBe(true);
});

test('returns the text before the first wildcard', () => {
  expect(literalPrefix('/a/b*c?')).toBe('/a/b');
  expect(literalPrefix('/a')).toBe('/a');
  expect([hasWildcard('/a'), hasWildcard('/a?')]).toEqual([false, true]);
});
