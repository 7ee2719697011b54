import type { Terminal } from './terminal.js';

/** What a command is run with. */
export interface Run {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly terminal: Terminal;
}

/** One command of `strandlake`; a new one is a file and a line in `commands/index.ts`. */
export interface Command {
  /** As typed: `token add`. */
  readonly name: string;
  readonly usage: string;
  readonly help: string;
  /** Returns the exit code. */
  run(run: Run): Promise<number>;
}

/** The command line was wrong: its usage is shown, and the exit code is 2. */
export class UsageError extends Error {}
