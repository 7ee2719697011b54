/** Returns the position of the first line feed or carriage return at or after `at`; the end of the bytes if there is none. */
export function findLineEnd(bytes: Uint8Array, at: number): number {
  while (at < bytes.length && bytes[at] !== 10 && bytes[at] !== 13) at++;
  return at;
}

/** Returns the start of the line after the line end at `at`. LF, CR LF and a single CR all end a line. */
export function nextLineStart(bytes: Uint8Array, at: number): number {
  if (bytes[at] === 13 && bytes[at + 1] === 10) return at + 2;
  return Math.min(at + 1, bytes.length);
}

/** Returns a copy of a line in which each invalid sequence of bytes is replaced by U+FFFD. A byte order mark is data. */
export function repairUtf8Line(line: Uint8Array): Uint8Array {
  return encoder.encode(decoder.decode(line));
}

/** The warning about a record whose line contained invalid UTF-8, which `repairUtf8Line` has replaced. */
export const repairedUtf8Warning = 'bytes that are not UTF-8 were replaced by U+FFFD';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
