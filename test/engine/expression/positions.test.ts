import { expect, test } from '@jest/globals';
import { compileExpression } from '../../../engine/expression/expression.js';
import { SourceText } from '../../../engine/expression/syntax/tokenizer.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';

test(`a position is the line and the character that the text before it ends in (seed ${seed})`, () => {
  const next = seededRandom(seed);
  const parts = ['a', '\n', '\r\n', '\r', '😀', 'é', ' ', '\ud83d', 'x'];
  for (let round = 0; round < 500; round++) {
    const source = Array.from({ length: 12 }, () => parts[Math.floor(next() * parts.length)]!);
    const text = new SourceText(source.join(''));
    for (let i = 0; i < source.length; i++) {
      const before = source.slice(0, i).join('');
      const lines = before.split(/\r\n|\r|\n/);
      const column = Array.from(lines.at(-1)!).length + 1;
      // A carriage return and a line feed at the boundary of two parts form one line break, so there is no position between them.
      if (before.endsWith('\r') && source[i]!.startsWith('\n')) continue;
      expect(text.positionAt(before.length)).toEqual({ line: lines.length, column });
    }
  }
});

test('the time to compile grows as the length of the source', () => {
  const timeOf = (items: number): number => {
    const source = `[${'1,'.repeat(items)}1]`;
    const from = performance.now();
    compileExpression(source);
    return performance.now() - from;
  };
  timeOf(4000);
  // The time must grow linearly: ten times the length may take about ten times as long, not a hundred times. The minimum of several runs is
  // used, because other work may disturb a run.
  const leastTime = (items: number): number =>
    Math.min(...Array.from({ length: 5 }, () => timeOf(items)));
  expect(leastTime(40_000)).toBeLessThan(40 * leastTime(4000));
});
