import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { evaluateText } from './evaluated.js';

/* Expressions that attack the server, its time or its memory (threats E1, E2, E3). */

const attackCases = readFileSync('test/engine/expression/attacks.txt', 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split('\t') as [string, string]);

describe('a hostile expression is an error that names its reason', () => {
  test.each(attackCases)('%s', (expression, reason) => {
    const result = evaluateText(expression, '{"a": 1}');
    expect(result).toMatch(/^! /);
    expect(result).toContain(reason);
  });

  test.each([
    ['brackets', `${'('.repeat(5000)}1${')'.repeat(5000)}`],
    ['lists', '['.repeat(5000)],
    ['signs', `${'-'.repeat(5000)}1`],
    ['negations', `${'not '.repeat(5000)}1`],
    ['lambdas', `${'lambda: '.repeat(5000)}1`],
    ['conditionals', `${'1 if 1 else '.repeat(5000)}1`],
    ['powers', `${'2 ** '.repeat(5000)}1`],
    ['sums', `${'1 + '.repeat(5000)}1`],
    ['attributes', `record${'.a'.repeat(5000)}`],
    ['targets', `[1 for ${'('.repeat(5000)}a`],
    ['f-strings', `f'{${'('.repeat(5000)}1${')'.repeat(5000)}}'`],
  ])('deep nesting of %s', (_name, expression) => {
    expect(evaluateText(expression)).toBe(
      '! LimitError: Expression limit exceeded: nesting of more than 200 levels',
    );
  });

  test('a source of more than 100,000 characters', () => {
    expect(evaluateText(`'${'a'.repeat(100_000)}'`)).toContain(
      'a source of more than 100000 characters',
    );
  });

  test('as much nesting as is allowed, in as many calls', () => {
    const deepExpression = `${'-('.repeat(90)}f(f)${')'.repeat(90)}`;
    expect(evaluateText(`(lambda f: f(f))(lambda f: ${deepExpression})`)).toMatch(/^! LimitError/);
  });
});

test('the time is limited by the clock that is given, without the time of functions of the host', () => {
  let now = 0;
  const clock = () => (now += 300);
  const expression = 'sum(1 for i in range(1000000))';
  expect(evaluateText(expression, '{}', { clock })).toBe(
    '! LimitError: Expression limit exceeded: more than 2 s',
  );
  const stoppedClock = { clock: () => 0 };
  expect(evaluateText(expression, '{}', stoppedClock)).toBe('1000000');
});

test('default values of lambdas count as steps', () => {
  const expression = `[(lambda x=${'i + '.repeat(40)}i: x) for i in range(100)]`;
  const evaluateWithSteps = (steps: number) =>
    evaluateText(expression, '{}', { limits: { steps } });
  expect(evaluateWithSteps(5000)).toBe(
    '! LimitError: Expression limit exceeded: more than 5000 steps',
  );
  expect(evaluateWithSteps(10_000)).toMatch(/^\[<function/);
});

test('the time of functions of the host has a limit of its own', () => {
  let now = 0;
  const slowFunction = (): number => {
    now += 4000;
    return 3;
  };
  const functions = new Map([['dataset_count', slowFunction]]);
  const evaluateCalls = (count: number): string => {
    const expression = `sum(dataset_count("a") for i in range(${count}))`;
    return evaluateText(expression, '{}', { clock: () => now }, { functions });
  };
  expect(evaluateCalls(8)).toBe('24');
  expect(evaluateCalls(9)).toBe(
    '! LimitError: Expression limit exceeded: more than 30 s in dataset functions',
  );
});

test('the number of calls of dataset functions is limited', () => {
  const functions = new Map([['dataset_count', () => 3]]);
  expect(evaluateText('dataset_count("a")', '{}', {}, { functions })).toBe('3');
  expect(
    evaluateText('[dataset_count("a") for i in range(101)]', '{}', {}, { functions }),
  ).toContain('more than 100 dataset calls');
});

describe('a regular expression takes time in proportion to pattern and text', () => {
  test.each([
    ['(a+)+$', 20_000],
    ['(a|a)*b', 20_000],
    ['(a|aa)+$', 20_000],
    ['(.*)(.*)(.*)(.*)(.*)x', 5000],
    ['(?:a?){50}a{50}b', 2000],
    ['^(([a-z])+.)+[A-Z]([a-z])+$', 20_000],
  ])('%s', (pattern, length) => {
    const text = 'a'.repeat(length);
    expect(
      evaluateText(
        `search(${JSON.stringify(pattern)}, record.s)`,
        JSON.stringify({ s: `${text}!` }),
      ),
    ).toBe('False');
  });
});
