import { ByteSet, scanBuffer } from '../text/scan-buffer.js';

/** An error of XML syntax or an exceeded limit; it never leaves the reader. `byteOffset` is its position in the bytes being read. */
export class XmlFault extends Error {
  readonly byteOffset: number;
  constructor(at: number, message: string) {
    super(message);
    this.byteOffset = at;
  }
}

/** Bytes with a meaning in XML. */
export const asciiCodes = {
  tab: 9,
  lineFeed: 10,
  carriageReturn: 13,
  exclamation: 33,
  doubleQuote: 34,
  hash: 35,
  ampersand: 38,
  singleQuote: 39,
  slash: 47,
  semicolon: 59,
  open: 60,
  equals: 61,
  close: 62,
  question: 63,
  openBracket: 91,
  closeBracket: 93,
} as const;

/** Returns whether the byte is white space of XML: space, tab, CR or LF. Returns false after the end of the text. */
export function isSpace(c: number | undefined): boolean {
  return c === 32 || c === 10 || c === 9 || c === 13;
}

/** 1 for a byte that a name may contain, 2 for one that a name may also begin with; all bytes beyond ASCII may begin a name. */
export const nameByteClasses = new Uint8Array(256);
for (let c = 0; c < 256; c++) {
  const letter = String.fromCharCode(c);
  nameByteClasses[c] = c >= 128 || /[A-Za-z_:]/.test(letter) ? 2 : /[-.0-9]/.test(letter) ? 1 : 0;
}

/** 1 for the bytes at which the fast scan of a text stops: markup, references, carriage returns, `]`, and characters that XML forbids. */
export const textStopBytes = new Uint8Array(256);
/** 1 for the bytes at which the fast scan of an attribute value stops: quotes, `<`, references, and control characters such as tabs. */
export const attributeValueStopBytes = new Uint8Array(256);
for (let c = 0; c < 32; c++) {
  textStopBytes[c] = c === asciiCodes.lineFeed || c === asciiCodes.tab ? 0 : 1;
  attributeValueStopBytes[c] = 1;
}
for (const c of [asciiCodes.open, asciiCodes.ampersand, asciiCodes.closeBracket])
  textStopBytes[c] = 1;
for (const c of [
  asciiCodes.open,
  asciiCodes.ampersand,
  asciiCodes.doubleQuote,
  asciiCodes.singleQuote,
])
  attributeValueStopBytes[c] = 1;

/** Returns whether a code point is a character of XML 1.0 (section 2.2). */
export function isXmlCharacter(code: number): boolean {
  if (code < 32) return code === 9 || code === 10 || code === 13;
  return (
    code <= 0xd7ff || (code >= 0xe000 && code <= 0xfffd) || (code >= 0x10000 && code <= 0x10ffff)
  );
}

/** Returns the first position of `text`, which is ASCII, at or after `at`; -1 if there is none. */
export function positionOfText(bytes: Uint8Array, text: string, at: number): number {
  const lastIndex = text.length - 1;
  const lastCode = text.charCodeAt(lastIndex);
  // Comments, processing instructions and CDATA sections are mostly short, so a loop to their end is faster than a native search.
  for (let i = at + lastIndex; i < bytes.length; i++)
    if (bytes[i] === lastCode && hasTextAt(bytes, text, i - lastIndex)) return i - lastIndex;
  return -1;
}

/** Returns whether the bytes at `at` are `text`, which must be ASCII. */
export function hasTextAt(bytes: Uint8Array, text: string, at: number): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text.charCodeAt(i)) return false;
  return true;
}

const lineEndBytes = new ByteSet([asciiCodes.lineFeed, asciiCodes.carriageReturn]);

/** Returns the number of line ends (LF, CR LF or CR) in `[from, to)`. */
export function countLineEnds(bytes: Uint8Array, from: number, to: number): number {
  let count = 0;
  const text = bytes.subarray(0, to);
  const window = scanBuffer();
  for (let at = from; at < to; at += window.textLength) {
    window.loadText(text, at);
    const positionCount = window.search(lineEndBytes);
    count += positionCount;
    // CR LF is one line end, so its CR does not count.
    for (let i = 0; i < positionCount; i++) {
      const lineEndAt = at + window.positions[i]!;
      if (
        bytes[lineEndAt] === asciiCodes.carriageReturn &&
        bytes[lineEndAt + 1] === asciiCodes.lineFeed
      )
        count--;
    }
  }
  return count;
}

/**
 * Returns the number of characters before `at` on its line; `charactersBefore` is the number of characters that precede the bytes on their
 * first line.
 */
export function characterColumn(bytes: Uint8Array, at: number, charactersBefore: number): number {
  let start = at;
  while (start > 0 && bytes[start - 1] !== 10 && bytes[start - 1] !== 13) start--;
  let count = start === 0 ? charactersBefore : 0;
  // Continuation bytes of UTF-8 do not count as characters.
  for (let i = start; i < at; i++) if ((bytes[i]! & 0xc0) !== 0x80) count++;
  return count;
}

/** Returns the character at `at`, in quotes, for a message; `the end` after the last byte. */
export function describeCharacter(bytes: Uint8Array, at: number): string {
  if (at >= bytes.length) return 'the end';
  const text = new TextDecoder().decode(bytes.subarray(at, at + 4));
  return JSON.stringify(String.fromCodePoint(text.codePointAt(0) ?? 0));
}

/** Returns the name that begins at `at`, cut at 60 bytes. */
export function shortenedNameAt(bytes: Uint8Array, at: number): string {
  let end = at;
  while (end < bytes.length && end - at < 60 && nameByteClasses[bytes[end]!]! > 0) end++;
  return new TextDecoder().decode(bytes.subarray(at, end));
}
