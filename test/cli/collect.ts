import type { Terminal } from '../../cli/terminal.js';

/** A simulated terminal that collects its output. */
export interface CollectingTerminal extends Terminal {
  readonly outs: string[];
  readonly notes: string[];
  /** The answers to the next prompts for a secret. */
  readonly secrets: string[];
}

export function collectingTerminal(): CollectingTerminal {
  const [outs, notes, secrets]: [string[], string[], string[]] = [[], [], []];
  return {
    isTerminal: false,
    drawsProgress: false,
    outs,
    notes,
    secrets,
    secret: async () => secrets.shift() ?? '',
    out: (text) => outs.push(text),
    note: (text) => notes.push(text),
    progress: () => undefined,
  };
}
