import { describe, expect, test } from '@jest/globals';
import { castResult } from '../../../engine/expression/annotate/cast-result.js';
import type { CastType } from '../../../engine/expression/annotate/cast-result.js';
import { compileExpression } from '../../../engine/expression/expression.js';
import { ExpressionError } from '../../../engine/expression/values/expression-errors.js';
import { reprOf } from '../../../engine/expression/values/repr.js';

/* Tests the casts of results of expressions (threat E7). */

function castToText(text: string, type: string, isList: boolean | null): string {
  try {
    const expression = compileExpression(text);
    const value = expression.evaluate(undefined);
    return reprOf(
      expression.runtime,
      castResult(expression.runtime, value, type as CastType, isList),
    );
  } catch (error) {
    if (error instanceof ExpressionError) return `! ${error.message}`;
    throw error;
  }
}

/**
 * The cases of the specification of expressions, section 5.3: the results, the types, and the value cast to a single value and to a list.
 */
const publishedCases: readonly [string, string, string, string][] = [
  [`''|['']`, 'string text', `''`, `['']`],
  ['[]', 'string text', 'None', '[]'],
  [`''|['']|None|[None]`, 'integer float long double', 'None', '[None]'],
  ['[]', 'integer float long double', 'None', '[]'],
  [`''|['']`, 'boolean', 'False', '[False]'],
  ['None|[None]', 'boolean', 'None', '[None]'],
  ['[]', 'boolean', 'None', '[]'],
  [`float('inf')`, 'float double', 'inf', '[inf]'],
  [`float('-inf')`, 'float double', '-inf', '[-inf]'],
  [`float('nan')`, 'float double integer long', 'None', '[None]'],
];

describe('the published table of casts', () => {
  const cases = publishedCases.flatMap(([results, types, value, list]) =>
    results
      .split('|')
      .flatMap((result) => types.split(' ').map((type) => [result, type, value, list] as const)),
  );
  test.each(cases)('%s as %s', (result, type, value, list) => {
    expect([castToText(result, type, false), castToText(result, type, true)]).toEqual([
      value,
      list,
    ]);
  });
});

test.each([
  ['2.0', 'string', `'2.0'`],
  ['True', 'string', `'True'`],
  ['[1, 2]', 'integer', '1'],
  ['[[[3]]]', 'integer', '3'],
  ['2.9', 'integer', '2'],
  ['-2.9', 'integer', '-2'],
  ["' 12 '", 'integer', '12'],
  ["'12.0'", 'integer', '12'],
  ["'12.5'", 'integer', `! Invalid value for data type integer: '12.5'`],
  ["'abc'", 'integer', `! Invalid value for data type integer: 'abc'`],
  ['2 ** 31', 'integer', '! Invalid value for data type integer: 2147483648'],
  ['-2 ** 31', 'integer', '-2147483648'],
  ['2 ** 31', 'long', '2147483648'],
  ['2 ** 63', 'long', '! Invalid value for data type long: 9223372036854775808'],
  ["float('inf')", 'integer', '! Invalid value for data type integer: inf'],
  ['1', 'float', '1.0'],
  ["'1e3'", 'double', '1000.0'],
  ["'x'", 'float', `! Invalid value for data type float: 'x'`],
  ["'false'", 'boolean', 'True'],
  ['0', 'boolean', 'False'],
  ["'2020-02-29'", 'date', `'2020-02-29'`],
  ["'2020-01-02T03:04:05.678+01:00'", 'date', `'2020-01-02T03:04:05.678+01:00'`],
  ["'2019-02-29'", 'date', `! Invalid value for data type date: '2019-02-29'`],
  ["''", 'date', 'None'],
  ["{'a': 1}", 'object', `{'a': 1}`],
  ["''", 'object', 'None'],
  ['5', 'object', '! Invalid value for data type object: 5'],
  ['len', 'auto', '! a result of type builtin_function_or_method cannot be stored'],
  ['{1: {True: None}, None: 2.5}', 'auto', `{'1': {'true': None}, 'null': 2.5}`],
  ['{(1, 2): 3}', 'auto', '! keys must be str, int, float, bool or None, not tuple'],
])('%s as %s', (text, type, expected) => {
  expect(castToText(text, type, false)).toBe(expected);
});

test('a result is kept as it is without a type and without is_list', () => {
  expect(castToText('(x for x in (1, 2.0))', 'auto', null)).toBe('[1, 2.0]');
  expect(castToText('{3, 1, 2}', 'auto', null)).toBe('[1, 2, 3]');
  expect(castToText('None', 'auto', true)).toBe('[None]');
  expect(castToText('5', 'auto', null)).toBe('5');
});
