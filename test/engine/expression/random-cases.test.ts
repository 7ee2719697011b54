import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { compileExpression } from '../../../engine/expression/expression.js';
import { evaluateText, recordOf } from './evaluated.js';

/** Matches expressions that may need what the expression language lacks and CPython 3.11 has: complex numbers and `++`. */
const knownDifferencePattern = /\*\* 0\.5|\*\* -|\+\+/;

const casesFile = process.env['STRANDLAKE_EXPRESSIONS'];
const casesFileBytes = readFileSync(casesFile ?? 'test/engine/expression/random-cases.txt.gz');
const caseLines = (casesFile === undefined ? gunzipSync(casesFileBytes) : casesFileBytes)
  .toString('utf8')
  .trimEnd()
  .split('\n');
const recordJsonTexts = caseLines
  .filter((line) => line.startsWith('@'))
  .map((line) => line.slice(1));
const randomCases = caseLines
  .filter((line) => !line.startsWith('@'))
  .map((line) => {
    const [recordIndex, source, expected] = line.split('\t');
    const [, from, to, result] = /^(?:\[(\d+)-(\d+)\])?([^]*)$/.exec(JSON.parse(expected!))!;
    const json = recordJsonTexts[Number(recordIndex)]!;
    return { json, text: JSON.parse(source!) as string, result: result!, from, to };
  })
  .filter(({ text }) => !knownDifferencePattern.test(text));

const recordedCases = readFileSync('test/engine/expression/python-cases.txt', 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split('\t') as [string, string]);

test.each(recordedCases)('%s', (text, expected) => expect(evaluateText(text)).toBe(expected));

test('gives the values and errors of CPython 3.11 for 5000 random expressions (recorded with seed 7)', () => {
  expect(randomCases.length).toBeGreaterThan(4900);
  const differentCases = randomCases.flatMap(({ json, text, result }) => {
    const expectedText = result.startsWith('=') ? result.slice(1) : `! ${result}`;
    const actualText = evaluateText(text, json);
    return actualText === expectedText ? [] : [{ text, wanted: expectedText, got: actualText }];
  });
  expect(differentCases).toEqual([]);
});

test('the position of an error is in what CPython 3.11 marks in its traceback', () => {
  const errors = randomCases.filter(({ from }) => from !== undefined && from !== '0');
  expect(errors.length).toBeGreaterThan(1000);
  const differentErrors = errors.flatMap(({ json, text, result, from, to }) => {
    const expression = compileExpression(text);
    const record = recordOf(json);
    try {
      expression.evaluate(record);
      return [{ text, result }];
    } catch (error) {
      const { line, column } = expression.locateError(error).position ?? { line: 0, column: 0 };
      const isInside = line === 1 && column >= Number(from) && column < Number(to);
      return isInside ? [] : [{ text, result, from, to, column }];
    }
  });
  expect(differentErrors).toEqual([]);
});
