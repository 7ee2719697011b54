import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { libraryFunctionByName } from '../../../engine/expression/library/library.js';
import { evaluateText } from './evaluated.js';

const expressionHost = {
  now: Date.UTC(2026, 0, 3, 3, 4, 5),
  user: () => ({ name: 'Ada', email: 'ada@example.org' }),
};

const regexCases = readFileSync('test/engine/expression/regex-cases.txt', 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split('\t') as [string, string]);

test.each(regexCases)('%s', (expression, expected) => {
  expect(evaluateText(expression, '{}', {}, expressionHost)).toBe(expected);
});

test('each function has a signature, a text and an example of known names', () => {
  for (const { name, signature, text, example } of libraryFunctionByName.values()) {
    expect(signature.startsWith(`${name}(`)).toBe(true);
    expect(text).toMatch(/\.$/);
    expect(evaluateText(example)).not.toContain('NameError');
  }
  expect(libraryFunctionByName.size).toBe(35);
});
