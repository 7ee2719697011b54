import { isAscii, isUtf8 } from 'node:buffer';
import type { DeclaredEncoding } from '../source/utf16.js';

// A byte order mark within a cell is data, so the decoder must keep it.
const utf8Decoder = new TextDecoder('utf-8', { ignoreBOM: true });
// As in browsers, Latin-1 is read as its superset Windows-1252.
const windows1252Decoder = new TextDecoder('windows-1252');

/** Returns whether some of the bytes have to be decoded cell by cell. */
export function needsDecoding(bytes: Uint8Array, encoding: DeclaredEncoding): boolean {
  return encoding === 'latin-1' ? !isAscii(bytes) : !isUtf8(bytes);
}

/**
 * Returns the text of a cell. Choice: if the request declares no encoding, a cell of a delimited file that is not valid UTF-8 is read as
 * Latin-1, with a warning, if none of its characters is a valid UTF-8 character of more than one byte; in other cells, invalid bytes become
 * U+FFFD.
 */
export function decodeCell(cell: Uint8Array, encoding: DeclaredEncoding): string {
  if (encoding === 'latin-1') return windows1252Decoder.decode(cell);
  const text = utf8Decoder.decode(cell);
  const isLatin = encoding === null && !isUtf8(cell) && !/[^\0-\x7f\ufffd]/.test(text);
  return isLatin ? windows1252Decoder.decode(cell) : text;
}

/** Returns the warning about a cell or a header that is not valid UTF-8 and was decoded to `text`. */
export function decodingWarning(text: string): string {
  return text.includes('\ufffd')
    ? 'bytes that are not UTF-8 were replaced by U+FFFD'
    : 'text that is not UTF-8 was read as Latin-1 (Windows-1252): reader_params.encoding declares it';
}
