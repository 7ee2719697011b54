import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { toPlainValue } from '../../../engine/expression/values/plain-result.js';
import { castResult } from '../../../engine/expression/annotate/cast-result.js';
import {
  compileExpression,
  expressionErrorOf,
  type Expression,
} from '../../../engine/expression/expression.js';
import { ExpressionError } from '../../../engine/expression/values/expression-errors.js';
import { recordOf } from './evaluated.js';

const errorCases = readFileSync('test/engine/expression/errors.txt', 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split('\t') as [string, string, string]);

test.each(errorCases)('%s of %s', (source, json, expected) => {
  const text = source.replaceAll('\\n', '\n');
  for (const locatesErrors of [false, true])
    expect(errorTextOf(text, json, locatesErrors)).toBe(expected);
});

function errorTextOf(source: string, json: string, locatesErrors: boolean): string {
  try {
    const expression = compileExpression(source, { locatesErrors });
    try {
      toPlainValue(expression.runtime, expression.evaluate(recordOf(json)));
    } catch (error) {
      return expression.locateError(error).text;
    }
  } catch (error) {
    if (error instanceof ExpressionError) return error.text;
    throw error;
  }
  return 'no error';
}

test('an error of a cast has no position, and neither has one of a limit that took long to reach', () => {
  const limits = { steps: 50_000 };
  const expression = compileExpression('[x for x in range(100000) if x * x < 0]', { limits });
  const castExpression = compileExpression('record.a');
  const failures: readonly [Expression, () => unknown, string][] = [
    [expression, () => expression.evaluate(recordOf('{}')), 'more than 50000 steps'],
    [castExpression, () => castResult(castExpression.runtime, castExpression.evaluate(recordOf('{"a": "x"}')), 'integer', false),
      "type integer: 'x'"],
  ]; // prettier-ignore
  for (const [failedExpression, run, message] of failures) {
    const error = thrownError(run);
    expect(error.message).toContain(message);
    const { position, text } = failedExpression.locateError(error);
    expect([position, text]).toEqual([undefined, error.message]);
  }
});

function overflowStack(): unknown {
  return [overflowStack()];
}

test.each([
  ['values or calls nested too deeply', overflowStack],
  ['a string that is too long', () => 'a'.repeat(2 ** 30)],
  ['an integer that is too large', () => 2n ** (2n ** 40n)],
  ['a list that is too long', () => (Array(2 ** 32 - 1).length += 1)],
  ['the memory of the process', () => new ArrayBuffer(2 ** 53 - 1)],
])('an error of the JavaScript engine is that of a limit: %s', (what, run) => {
  expect(expressionErrorOf(thrownError(run)).message).toBe(`Expression limit exceeded: ${what}`);
});

test('another RangeError is a bug', () => {
  expect(() => expressionErrorOf(thrownError(() => 'a'.repeat(-1)))).toThrow('count');
});

function thrownError(run: () => unknown): Error {
  try {
    run();
  } catch (error) {
    return error as Error;
  }
  throw new Error('there is no error');
}

test('records that fail in the same way have their own positions', () => {
  const expression = compileExpression('1 / record.a + 1 / record.b');
  const texts = ['{"a": 0, "b": 1}', '{"a": 1, "b": 0}', '{"a": 0, "b": 0}'].map((json) => {
    const error = thrownError(() => expression.evaluate(recordOf(json)));
    return expression.locateError(error).text;
  });
  expect(texts).toEqual([
    'division by zero (line 1, column 3)',
    'division by zero (line 1, column 18)',
    'division by zero (line 1, column 3)',
  ]);
});
