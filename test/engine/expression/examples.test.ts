import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { evaluateToPlainText } from './evaluated.js';

const exampleCases = readFileSync('test/engine/expression/examples.txt', 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split('\t') as [string, string, string, string]);

test('has all worked examples', () => expect(exampleCases.length).toBeGreaterThanOrEqual(89));

test.each(exampleCases)('example %s: %s', (_number, expression, record, expected) => {
  expect(evaluateToPlainText(expression, record)).toBe(expected);
});
