/** Where a command writes. Tests collect the text; the program writes to the terminal. */
export interface Terminal {
  /** What the command was asked for. */
  out(text: string): void;
  /** What the person should know besides. */
  note(text: string): void;
  /** A line that the next one replaces in a terminal; elsewhere a line now and then. Empty text removes it. */
  progress(text: string): void;
}

/** The part of a stream that is needed here. */
export interface Sink {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const lineEveryMs = 2_000;

/** A terminal on two streams. A progress line is only drawn where it can be wiped away again. */
export function openTerminal(
  out: Sink = process.stdout,
  notes: Sink = process.stderr,
  now: () => number = () => performance.now(),
): Terminal {
  const draws = notes.isTTY === true;
  let drawn = '';
  let writtenAt = -Infinity;
  const wipe = (): void => {
    if (drawn !== '') notes.write('\r\x1b[2K');
    drawn = '';
  };
  return {
    out(text) {
      wipe();
      out.write(`${printable(text)}\n`);
    },
    note(text) {
      wipe();
      notes.write(`${printable(text)}\n`);
    },
    progress(text) {
      if (draws) {
        wipe();
        drawn = printable(text).slice(0, (notes.columns || 80) - 1);
        notes.write(drawn);
      } else if (text !== '' && now() - writtenAt >= lineEveryMs) {
        writtenAt = now();
        notes.write(`${printable(text)}\n`);
      }
    },
  };
}

/** File names and server messages may hold characters that a terminal obeys. */
function printable(text: string): string {
  return text.replaceAll(/(?!\n)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu, '\ufffd');
}
