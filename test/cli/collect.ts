import type { Terminal } from '../../cli/terminal.js';

/** A terminal that collects its output. */
export interface Collected extends Terminal {
  readonly outs: string[];
  readonly notes: string[];
}

export function collect(): Collected {
  const [outs, notes]: [string[], string[]] = [[], []];
  return {
    isTerminal: false,
    drawsProgress: false,
    outs,
    notes,
    out: (text) => outs.push(text),
    note: (text) => notes.push(text),
    progress: () => undefined,
  };
}
