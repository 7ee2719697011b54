import { settingsHelp } from '../engine/core/config.js';
import { AppError } from '../engine/core/errors.js';
import { editDistance } from '../engine/core/suggestion.js';
import { type Command, UsageError } from './command.js';
import { commands } from './commands/index.js';
import type { Terminal } from './terminal.js';

/**
 * Runs one command line; returns the exit code: that of the command, 0 for help, 1 for an
 * `AppError`, which is reported, or 2 for a wrong command line. Throws any other error.
 */
export async function main(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  terminal: Terminal,
): Promise<number> {
  const [firstWord] = argv;
  if (
    firstWord === undefined ||
    firstWord === '--help' ||
    firstWord === '-h' ||
    firstWord === 'help'
  ) {
    terminal.out(overviewText());
    return 0;
  }
  const selectedCommand = findCommand(argv);
  if (!selectedCommand) {
    terminal.note(unknownCommandText(argv));
    return 2;
  }
  const { command, args } = selectedCommand;
  if (args.includes('--help') || args.includes('-h')) {
    terminal.out(await helpText(command));
    return 0;
  }
  try {
    return await command.run({ args, env, terminal });
  } catch (error) {
    if (error instanceof UsageError) {
      terminal.note(
        `strandlake ${command.name}: ${error.message}\nUsage: strandlake ${command.usage}`,
      );
      return 2;
    }
    if (!(error instanceof AppError)) throw error;
    terminal.note(`strandlake ${command.name}: ${error.message}`);
    return 1;
  }
}

function findCommand(
  argv: readonly string[],
): { readonly command: Command; readonly args: readonly string[] } | undefined {
  for (const command of commands) {
    const words = command.name.split(' ');
    if (words.every((word, i) => argv[i] === word))
      return { command, args: argv.slice(words.length) };
  }
  return undefined;
}

/** Returns the message for an unknown command, with a suggestion, the commands of its group or a reference to `--help`. */
function unknownCommandText(argv: readonly string[]): string {
  const words = argv.slice(0, 2).filter((word) => !word.startsWith('-'));
  const commandNames = commands.map(({ name }) => name);
  const commandsOfGroup = commandNames.filter((name) => name.startsWith(`${words[0]} `));
  if (commandsOfGroup.length > 0) {
    const suggestion = suggestWord(words.join(' '), commandsOfGroup);
    return `strandlake: unknown command "${words.join(' ')}"; ${suggestion ? `did you mean "${suggestion}"?` : `commands: ${commandsOfGroup.join(', ')}`}`;
  }
  const suggestion =
    suggestWord(words.join(' '), commandNames) ?? suggestWord(words[0] ?? '', commandNames);
  return `strandlake: unknown command "${words[0] ?? argv[0]}"; ${suggestion ? `did you mean "${suggestion}"?` : '--help lists them'}`;
}

function overviewText(): string {
  const nameWidth = Math.max(...commands.map(({ name }) => name.length));
  const commandList = commands
    .map(({ name, help }) => `  ${name.padEnd(nameWidth)}  ${help}`)
    .join('\n');
  return `Usage: strandlake <command> [--help]\n\n${commandList}\n\nSettings of serve, each by flag or environment:\n${settingsHelp()}`;
}

async function helpText({ usage, help, details }: Command): Promise<string> {
  const paragraphs = [`Usage: strandlake ${usage}`, help, ...(details ? [await details()] : [])];
  return paragraphs.join('\n\n');
}

/** Returns the known word with the smallest edit distance to a mistyped one; undefined if none is close. */
function suggestWord(word: string, knownWords: readonly string[]): string | undefined {
  const [closestWord] = knownWords
    .map((name) => ({ name, steps: editDistance(word, name) }))
    .sort((a, b) => a.steps - b.steps);
  return closestWord && closestWord.steps <= Math.max(2, Math.floor(closestWord.name.length / 3))
    ? closestWord.name
    : undefined;
}
