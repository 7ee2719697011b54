/** Receives one line of the log, without the line end. */
export type LogSink = (line: string) => void;

/** The maximum length of a line of the log in bytes. */
const maxLineBytes = 8 << 10;

/**
 * Returns one event as a JSON line of at most 8 KiB: long texts are cut, or the time and all entries are left out. Control characters are
 * escaped or replaced. The caller removes secrets (`withoutSecrets`).
 */
export function formatLogLine(event: string, entries: Readonly<Record<string, unknown>>): string {
  const fields = Object.entries(entries).map(
    ([key, value]) => [key, cleanText(value, 2_000)] as const,
  );
  const line = JSON.stringify({
    time: new Date().toISOString(),
    event,
    ...Object.fromEntries(fields),
  });
  if (line.length <= maxLineBytes / 4 || Buffer.byteLength(line) <= maxLineBytes) return line;
  const shortFields = fields.map(([key, value]) => [key, cleanText(value, 200)] as const);
  const shortLine = JSON.stringify({
    time: new Date().toISOString(),
    event,
    ...Object.fromEntries(shortFields),
  });
  return Buffer.byteLength(shortLine) <= maxLineBytes
    ? shortLine
    : JSON.stringify({ event, cut: true });
}

/** Returns the address of a request as it may be logged: without access tokens, signatures, codes and client secrets (threats A8, D7). */
export function withoutSecrets(target: string): string {
  return target.replaceAll(/([?&](?:access_token|signature|code|client_secret)=)[^&#]*/gi, '$1***');
}

function cleanText(value: unknown, maxLength: number): unknown {
  if (typeof value !== 'string') return value;
  const text = value.length > maxLength ? `${value.slice(0, maxLength)}…` : value;
  // JSON escapes C0 control characters, but neither DEL and C1, which terminals also obey, nor line separators and bidirectional controls,
  // which change how the text is displayed.
  return text.replaceAll(/[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '�');
}

/** Writes each line to standard error, in one write. */
export const stderrSink: LogSink = (line) => {
  process.stderr.write(`${line}\n`);
};
