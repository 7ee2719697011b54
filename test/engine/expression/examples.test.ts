import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { evaluatedPlain } from './evaluated.js';

const cases = readFileSync('test/engine/expression/examples.txt', 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split('\t') as [string, string, string, string]);

test('has all worked examples', () => expect(cases.length).toBeGreaterThanOrEqual(89));

test.each(cases)('example %s: %s', (_number, expression, record, expected) => {
  expect(evaluatedPlain(expression, record)).toBe(expected);
});
