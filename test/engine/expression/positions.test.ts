import { expect, test } from '@jest/globals';
import { SourceText } from '../../../engine/expression/syntax/source-tokenizer.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';

test(`a position is the line and the character that the text before it ends in (seed ${seed})`, () => {
  const next = seededRandom(seed);
  const pieces = ['a', '\n', '\r\n', '\r', '😀', 'é', ' ', '\ud83d', 'x'];
  for (let round = 0; round < 500; round++) {
    const source = Array.from({ length: 12 }, () => pieces[Math.floor(next() * pieces.length)]!);
    const text = new SourceText(source.join(''));
    for (let i = 0; i < source.length; i++) {
      const textBefore = source.slice(0, i).join('');
      const lines = textBefore.split(/\r\n|\r|\n/);
      const column = Array.from(lines.at(-1)!).length + 1;
      // A carriage return and a line feed at the boundary of two pieces form one line break, so there is no position between them.
      if (textBefore.endsWith('\r') && source[i]!.startsWith('\n')) continue;
      expect(text.positionAt(textBefore.length)).toEqual({ line: lines.length, column });
    }
  }
});

test('positions are found without reading the source again', () => {
  const source = new SourceText('[\n1,\n 2 ++ 3]');
  // A search in the text for each position would make the time to compile grow with the square of the length.
  Object.defineProperty(source, 'text', {
    get: () => {
      throw new Error('the text is read');
    },
  });
  expect(source.positionAt(8)).toEqual({ line: 3, column: 4 });
});
