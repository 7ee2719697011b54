import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';

/** Where a command writes its results, messages and progress, and asks for secrets. */
export interface Terminal {
  /** Writes a result, to standard output. */
  out(text: string): void;
  /** Writes a message, to standard error. */
  note(text: string): void;
  /**
   * Shows a progress line, which the next output replaces; without a terminal, writes a line at most every two seconds. An empty text
   * removes the line. `state` is the same progress as data, for programs.
   */
  progress(text: string, state?: Readonly<Record<string, unknown>>): void;
  /**
   * Asks for a secret, which is not shown while it is typed; if the input is not a terminal, the secret is the first line of standard
   * input.
   */
  secret(question: string): Promise<string>;
  /** Whether a person reads the results; false if a program does. */
  readonly isTerminal: boolean;
  /** Whether a person sees the progress, regardless of who reads the results. */
  readonly drawsProgress: boolean;
}

/** The part of a writable stream that a terminal needs. */
interface TerminalStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const progressIntervalMs = 2_000;

/** Returns a terminal on two streams. It draws progress lines only if `notes` is a TTY, where they can be erased. */
export function openTerminal(
  out: TerminalStream = process.stdout,
  notes: TerminalStream = process.stderr,
  now: () => number = () => performance.now(),
): Terminal {
  const drawsProgress = notes.isTTY === true;
  let drawnText = '';
  let writtenAt = -Infinity;
  const erase = (): void => {
    if (drawnText !== '') notes.write('\r\x1b[2K');
    drawnText = '';
  };
  return {
    isTerminal: out.isTTY === true,
    drawsProgress,
    out(text) {
      erase();
      out.write(`${printableText(text)}\n`);
    },
    note(text) {
      erase();
      notes.write(`${printableText(text)}\n`);
    },
    async secret(question) {
      erase();
      const isInteractive = process.stdin.isTTY;
      if (isInteractive) notes.write(question);
      const mutedOutput = new Writable({ write: (_text, _encoding, done) => done() });
      const lines = createInterface({
        input: process.stdin,
        output: mutedOutput,
        terminal: isInteractive,
      });
      try {
        for await (const line of lines) return line;
        return '';
      } finally {
        lines.close();
        if (isInteractive) notes.write('\n');
      }
    },
    progress(text) {
      if (drawsProgress) {
        erase();
        drawnText = printableText(text).slice(0, (notes.columns || 80) - 1);
        notes.write(drawnText);
      } else if (text !== '' && now() - writtenAt >= progressIntervalMs) {
        writtenAt = now();
        notes.write(`${printableText(text)}\n`);
      }
    },
  };
}

/**
 * Replaces control characters other than line feeds, and bidirectional embeddings, overrides and isolates. File names and server messages
 * may contain them, and a terminal would obey them.
 */
function printableText(text: string): string {
  return text.replaceAll(/(?!\n)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu, '\ufffd');
}

/** The values of a progress line. `percent` is null if the total is unknown. */
interface ProgressValues {
  readonly title: string;
  readonly percent: number | null;
  readonly records: number;
  readonly perSecond: number;
}

const progressBarWidth = 24;

/** Formats a progress line: `clinvar  [#########---------------]  38 %  26,334 records  61,200/s` */
export function progressLine({ title, percent, records, perSecond }: ProgressValues): string {
  const counts = `${groupDigits(records)} records  ${groupDigits(perSecond)}/s`;
  if (percent === null) return `${title}  ${counts}`;
  const fullCells = Math.round((Math.min(100, Math.max(0, percent)) / 100) * progressBarWidth);
  const bar = '#'.repeat(fullCells) + '-'.repeat(progressBarWidth - fullCells);
  return `${title}  [${bar}]  ${String(Math.floor(percent)).padStart(3)} %  ${counts}`;
}

/** Returns the number, rounded, with thousands separators: `69,302`. */
export function groupDigits(count: number): string {
  return Math.round(count).toLocaleString('en-US');
}
