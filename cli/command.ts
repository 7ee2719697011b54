import type { Terminal } from './terminal.js';

/** The input and output of a command. */
export interface CommandContext {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly terminal: Terminal;
}

/** One command of `strandlake`. To add one, add a file and a line in `commands/index.ts`. */
export interface Command {
  /** The words that select the command: `token add`. */
  readonly name: string;
  readonly usage: string;
  readonly help: string;
  /** Returns a text that follows `help` when a user asks for the help of this command. */
  readonly details?: () => string | Promise<string>;
  /** Returns the exit code. */
  run(run: CommandContext): Promise<number>;
}

/** Thrown for a wrong command line; `main` shows the usage and returns the exit code 2. */
export class UsageError extends Error {}
