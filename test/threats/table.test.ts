import { expect, test } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';

const expectedThreats = readFileSync('test/threats/rows.txt', 'utf8')
  .trim()
  .split('\n')
  .map((line) => /^(\S+) (.*)$/.exec(line)!.slice(1) as [id: string, title: string]);

/** The rows of the table in docs/threats.md, as trimmed cells. */
const threatTableRows = readFileSync('docs/threats.md', 'utf8')
  .split('\n')
  .filter((line) => /^\| [A-Z]\d/.test(line))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

test('docs/threats.md has a line for every row that must hold, and no other', () => {
  expect(threatTableRows.map(([id, title]) => [id, title])).toEqual(expectedThreats);
});

test.each(expectedThreats)('%s (%s) says how it stands and which tests prove it', (id) => {
  const [, , state = '', testsCell = ''] = threatTableRows.find(([cell]) => cell === id) ?? [];
  expect(state).toMatch(/^(held($|[:; ])|not yet: )/);
  const files = [...testsCell.matchAll(/`([^`]+)`/g)].map(([, file]) => file!);
  if (state.startsWith('held')) expect(files).not.toEqual([]);
  for (const file of files) {
    expect([file, existsSync(file)]).toEqual([file, true]);
    expect([file, new RegExp(`\\b${id}\\b`).test(readFileSync(file, 'utf8'))]).toEqual([
      file,
      true,
    ]);
  }
});
