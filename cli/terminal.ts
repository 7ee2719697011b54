/** The output of a command. Tests collect the text; the program writes it to standard output and standard error. */
export interface Terminal {
  /** Writes a result, to standard output. */
  out(text: string): void;
  /** Writes a message, to standard error. */
  note(text: string): void;
  /** Shows a line that the next output replaces; without a terminal, writes a line every two seconds. Empty text removes it. */
  progress(text: string): void;
}

/** The part of a writable stream that a terminal needs. */
export interface Sink {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const progressIntervalMs = 2_000;

/** A terminal on two streams. Draws progress lines only if `notes` is a TTY, where they can be erased. */
export function openTerminal(
  out: Sink = process.stdout,
  notes: Sink = process.stderr,
  now: () => number = () => performance.now(),
): Terminal {
  const draws = notes.isTTY === true;
  let drawn = '';
  let writtenAt = -Infinity;
  const erase = (): void => {
    if (drawn !== '') notes.write('\r\x1b[2K');
    drawn = '';
  };
  return {
    out(text) {
      erase();
      out.write(`${printable(text)}\n`);
    },
    note(text) {
      erase();
      notes.write(`${printable(text)}\n`);
    },
    progress(text) {
      if (draws) {
        erase();
        drawn = printable(text).slice(0, (notes.columns || 80) - 1);
        notes.write(drawn);
      } else if (text !== '' && now() - writtenAt >= progressIntervalMs) {
        writtenAt = now();
        notes.write(`${printable(text)}\n`);
      }
    },
  };
}

/** Replaces control and bidirectional characters, which file names and server messages may contain and a terminal would execute. */
function printable(text: string): string {
  return text.replaceAll(/(?!\n)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu, '\ufffd');
}
