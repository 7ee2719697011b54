import { expect, test } from '@jest/globals';
import { commands } from '../../cli/commands/index.js';
import { main } from '../../cli/main.js';
import { settings } from '../../engine/core/config.js';
import { collectingTerminal } from './collect.js';

test.each([[[]], [['--help']], [['help']]])('%j lists every command and setting', async (argv) => {
  const terminal = collectingTerminal();
  expect(await main(argv, {}, terminal)).toBe(0);
  for (const { name } of commands) expect(terminal.outs.join()).toContain(`  ${name} `);
  for (const { env } of Object.values(settings)) expect(terminal.outs.join()).toContain(env);
});

test.each(commands.map(({ name, usage }) => [name, usage]))(
  '%s --help shows its usage and does nothing',
  async (name, usage) => {
    const terminal = collectingTerminal();
    expect(await main([...name.split(' '), '--help'], {}, terminal)).toBe(0);
    expect(terminal.outs.join()).toContain(`Usage: strandlake ${usage}`);
    expect(terminal.notes).toEqual([]);
  },
);

test.each([
  ['sevre', 'unknown command "sevre"; did you mean "serve"?'],
  ['token lst', 'unknown command "token lst"; did you mean "token list"?'],
  ['token', 'unknown command "token"; commands: token add, token list, token rename, token revoke'],
  ['usre add', 'unknown command "usre"; did you mean "user add"?'],
  ['frobnicate', 'unknown command "frobnicate"; --help lists them'],
])('%s is refused with a suggestion', async (line, expected) => {
  const terminal = collectingTerminal();
  expect(await main(line.split(' '), {}, terminal)).toBe(2);
  expect(terminal.notes.join()).toContain(expected);
});

test.each([
  ['user add --account acme', 'an argument is missing'],
  ['user add ann@example.org --account acme --role king', '--role must be one of member, admin'],
  ['user add ann@example.org --acount acme', "Unknown option '--acount'"],
  ['token revoke seven', '<id> must be a number'],
  ['token add ann@example.org --days 0', '--days must be a whole number above 0'],
])('%s is refused with the usage', async (line, expected) => {
  const terminal = collectingTerminal();
  expect(await main(line.split(' '), {}, terminal)).toBe(2);
  expect(terminal.notes.join()).toContain(expected);
  expect(terminal.notes.join()).toContain('Usage: strandlake');
});

test('all wrong settings are reported before the server starts', async () => {
  const terminal = collectingTerminal();
  const env = { STRANDLAKE_PORT: 'http', STRANDLAKE_TOKEN: 'short' };
  expect(await main(['serve'], env, terminal)).toBe(1);
  expect(terminal.notes.join()).toContain('STRANDLAKE_PORT: must be a whole number');
  expect(terminal.notes.join()).toContain('STRANDLAKE_TOKEN: must be exactly 30');
});
