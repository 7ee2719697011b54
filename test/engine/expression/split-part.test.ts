import { expect, test } from '@jest/globals';
import { compileExpression } from '../../../engine/expression/expression.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';
import { evaluateText } from './evaluated.js';

test(`a part of a split text is the item of the list of parts (seed ${seed})`, () => {
  const next = seededRandom(seed);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)]!;
  for (let round = 0; round < 3000; round++) {
    const length = pick([3, 3, 8, 300]);
    const s = Array.from({ length }, () => pick(['a', '-', ';', '😀', '; '])).join('');
    const separator = pick(['-', ';', '; ', 'a', '😀', '--', 'xyz']);
    const index = Math.floor(next() * 9) - 4;
    const record = JSON.stringify({ s: pick([s, s, s, null, 7, [s]]) });
    const actualText = evaluateText(`record.s.split('${separator}')[${index}]`, record);
    const expectedText = evaluateText(`(lambda parts: parts[${index}])(record.s.split('${separator}'))`, record); // prettier-ignore
    expect([record, separator, index, actualText]).toEqual([
      record,
      separator,
      index,
      expectedText,
    ]);
  }
});

test('a part of a split text costs what the list would cost', () => {
  const limitErrorOf = (source: string): string => {
    const expression = compileExpression(source, { limits: { collectionLength: 10 } });
    return errorOfEvaluation(() => expression.evaluate(undefined));
  };
  const limitError = limitErrorOf("('a,' * 20).split(',')");
  expect(limitError).toContain('a collection of more than 10 elements');
  expect(limitErrorOf("('a,' * 20).split(',')[3]")).toBe(limitError);
  expect(limitErrorOf("('a,' * 9).split(',')[3]")).toBe('');
  expect(limitErrorOf("[0].pop().split(',')[3]")).toContain(
    "'int' object has no attribute 'split'",
  );
});

/** Returns the text of the error of an evaluation; empty if there is none. */
function errorOfEvaluation(evaluate: () => unknown): string {
  try {
    evaluate();
    return '';
  } catch (error) {
    return String(error);
  }
}
