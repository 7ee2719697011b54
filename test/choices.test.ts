import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { readSourceFiles } from './architecture/sources.js';
import { expectCurrentPage } from './generated-page.js';

const choicesPage = 'docs/choices.md';

/** Returns the texts after `Choice:` in the comments of a file, each up to an empty line, the next `Choice:` or the end of the comment. */
function choicesIn(text: string): string[] {
  const comments = text.matchAll(/\/\*\*?([\s\S]*?)\*\/|((?:^[ \t]*\/\/.*\n?)+)/gm);
  return [...comments].flatMap(([, block, lines]) => {
    const comment = (block ?? lines ?? '').replaceAll(/^[ \t]*(\/\/|\*)[ \t]?/gm, '');
    const [, ...choices] = comment.split(/Choice:\s+/);
    return choices.map((choice) => {
      const choiceText = (choice.split(/\n[ \t]*\n/)[0] ?? '').replaceAll(/\s+/g, ' ').trim();
      return choiceText.charAt(0).toUpperCase() + choiceText.slice(1);
    });
  });
}

test('docs/choices.md lists every choice that the sources mark', () => {
  const rows = readSourceFiles().flatMap(({ path, text }) =>
    choicesIn(text).map((choice) => `| [${path}](../${path}) | ${choice.replaceAll('|', '\\|')} |`),
  );
  const [pageBeforeTable] = readFileSync(choicesPage, 'utf8').split('| Where |');
  const expectedPage = `${pageBeforeTable}| Where | Choice |\n|---|---|\n${rows.join('\n')}\n`;
  expectCurrentPage(choicesPage, expectedPage);
});

test('finds choices in both kinds of comments', () => {
  const source = `
/** A type. Choice: letters count
 * as one.
 */
  // First line.
  // Choice: nothing is
  // something.
const x = 'Choice: not a comment';
`;
  expect(choicesIn(source)).toEqual(['Letters count as one.', 'Nothing is something.']);
});
