/** The position of the first line feed or carriage return at or after `at`, or the end of the bytes. */
export function lineEnd(bytes: Uint8Array, at: number): number {
  while (at < bytes.length && bytes[at] !== 10 && bytes[at] !== 13) at++;
  return at;
}

/** The start of the line after the line end at `at`: LF, CR LF and CR alone all end a line. */
export function nextLineStart(bytes: Uint8Array, at: number): number {
  if (bytes[at] === 13 && bytes[at + 1] === 10) return at + 2;
  return Math.min(at + 1, bytes.length);
}

/** A copy of a line in which each byte that is not UTF-8 is replaced by U+FFFD. A byte order mark is data. */
export function repairedLine(line: Uint8Array): Uint8Array {
  return encoder.encode(decoder.decode(line));
}

/** The warning about a record whose line has been repaired. */
export const repairedWarning = 'bytes that are not UTF-8 were replaced by U+FFFD';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
