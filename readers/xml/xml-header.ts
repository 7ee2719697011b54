import { isUtf8 } from 'node:buffer';
import { InputError } from '../../engine/core/errors.js';
import type { HeaderSource } from '../source/source.js';
import {
  asciiCodes,
  characterColumn,
  countLineEnds,
  positionOfText,
  isSpace,
  nameByteClasses,
  shortenedNameAt,
  describeCharacter,
  hasTextAt,
  XmlFault,
} from './xml-characters.js';

/** The properties of the text before the root element. */
export interface XmlHeader {
  readonly encoding: XmlEncoding;
  /** The root element's name, null for an empty file. */
  readonly root: string | null;
  /** The offset of the root element in bytes. */
  readonly bodyOffset: number;
  readonly bodyLine: number;
  /** Number of characters before the root element on its line. */
  readonly column: number;
}

/** The encodings that are read. US-ASCII is read as UTF-8, of which it is a subset. */
type XmlEncoding = 'utf-8' | 'iso-8859-1';

/** Maximum number of bytes that are read to complete the header; a document type usually takes a few kilobytes. */
const maxHeaderBytes = 16 << 20;

const encodings: Readonly<Record<string, XmlEncoding>> = {
  'utf-8': 'utf-8',
  utf8: 'utf-8',
  'us-ascii': 'utf-8',
  ascii: 'utf-8',
  'iso-8859-1': 'iso-8859-1',
  latin1: 'iso-8859-1',
};

/**
 * Reads the text before the root element. A document type is skipped: its declarations are not used, and nothing that it refers to is
 * fetched.
 */
export async function readXmlHeader(source: HeaderSource): Promise<XmlHeader> {
  for (let wantedBytes = 1 << 16; ; wantedBytes *= 4) {
    const { bytes, isWhole } = await source.firstBytes(wantedBytes);
    try {
      return parseXmlHeader(bytes);
    } catch (error) {
      if (!(error instanceof XmlFault)) throw error;
      // The error may be due to an incomplete header, so more of the file is read.
      if (!isWhole && wantedBytes < maxHeaderBytes) continue;
      const line = countLineEnds(bytes, 0, error.byteOffset) + 1;
      const column = characterColumn(bytes, error.byteOffset, 0) + 1;
      const position = { file: source.name, line, column, byte: error.byteOffset };
      throw new InputError(position, `column ${column}: ${error.message}`);
    }
  }
}

function parseXmlHeader(bytes: Uint8Array): XmlHeader {
  if (bytes.length === 0)
    return { encoding: 'utf-8', root: null, bodyOffset: 0, bodyLine: 0, column: 0 };
  let encoding: XmlEncoding | null = null;
  let hasDocumentType = false;
  for (let at = 0; ;) {
    while (isSpace(bytes[at])) at++;
    if (bytes[at] !== asciiCodes.open || bytes[at + 1] === 0) {
      if (bytes[at] === 0 || bytes[at + 1] === 0)
        throw new XmlFault(at, 'this is UTF-16 text: save it as UTF-8');
      if (at < bytes.length)
        throw new XmlFault(
          at,
          `this is no XML: expected "<", found ${describeCharacter(bytes, at)}`,
        );
      throw new XmlFault(at, 'there is no root element');
    }
    if (bytes[at + 1] === asciiCodes.question) {
      const isFirst = encoding === null && !hasDocumentType;
      const end = constructEnd(bytes, '?>', at, 2);
      // Choice: blanks, comments and processing instructions before the XML declaration are ignored.
      if (isFirst && hasTextAt(bytes, '<?xml', at) && isSpace(bytes[at + 5]))
        encoding = declaredEncoding(bytes, at, end);
      else if (/^xml$/i.test(shortenedNameAt(bytes, at + 2)))
        throw new XmlFault(at, 'the XML declaration must come first');
      at = end;
    } else if (hasTextAt(bytes, '<!--', at)) at = constructEnd(bytes, '-->', at, 4);
    else if (hasTextAt(bytes, '<!DOCTYPE', at)) {
      if (hasDocumentType) throw new XmlFault(at, 'there is a second DOCTYPE');
      hasDocumentType = true;
      at = documentTypeEnd(bytes, at);
    } else if (nameByteClasses[bytes[at + 1]!] === 2) {
      return {
        encoding: encoding ?? 'utf-8',
        root: shortenedNameAt(bytes, at + 1),
        bodyOffset: at,
        bodyLine: countLineEnds(bytes, 0, at),
        column: characterColumn(bytes, at, 0),
      };
    } else throw new XmlFault(at, 'expected the root element');
  }
}

/**
 * Returns the position after the next occurrence of `text`, which ends the construct that begins at `at` with `openingBytes` bytes such as
 * `<!--`.
 */
function constructEnd(bytes: Uint8Array, text: string, at: number, openingBytes: number): number {
  const matchAt = positionOfText(bytes, text, at + openingBytes);
  if (matchAt < 0) throw new XmlFault(at, 'what begins here does not end');
  return matchAt + text.length;
}

function declaredEncoding(bytes: Uint8Array, from: number, to: number): XmlEncoding {
  const text = Buffer.from(bytes.subarray(from, to)).toString('latin1');
  const encodingMatch = /\sencoding\s*=\s*(?:"([^"]*)"|'([^']*)')/.exec(text);
  const name = encodingMatch === null ? 'utf-8' : (encodingMatch[1] ?? encodingMatch[2] ?? '');
  const encoding = Object.hasOwn(encodings, name.toLowerCase())
    ? encodings[name.toLowerCase()]
    : undefined;
  if (encoding === undefined)
    throw new XmlFault(
      from,
      `the encoding ${JSON.stringify(name.slice(0, 40))} is not read: save the file as UTF-8`,
    );
  return encoding;
}

/** Returns the position after the document type that begins at `start`, which may contain quotes, comments and instructions. */
function documentTypeEnd(bytes: Uint8Array, start: number): number {
  let isInSubset = false;
  for (let at = start + 9; at < bytes.length; at++) {
    const c = bytes[at]!;
    if (c === asciiCodes.doubleQuote || c === asciiCodes.singleQuote) {
      at = bytes.indexOf(c, at + 1);
      if (at < 0) break;
    } else if (c === asciiCodes.openBracket) isInSubset = true;
    else if (c === asciiCodes.closeBracket) isInSubset = false;
    else if (c === asciiCodes.close && !isInSubset) return at + 1;
    else if (hasTextAt(bytes, '<!--', at)) at = constructEnd(bytes, '-->', at, 4) - 1;
    else if (hasTextAt(bytes, '<?', at)) at = constructEnd(bytes, '?>', at, 2) - 1;
  }
  throw new XmlFault(start, 'the DOCTYPE that begins here does not end');
}

/** A chunk as UTF-8. `validBytes` is the number of bytes before the first one that its encoding forbids; if there is none, of all bytes. */
interface Utf8Chunk {
  readonly bytes: Uint8Array;
  readonly validBytes: number;
}

/**
 * Converts a chunk to UTF-8. Choice: bytes that are not UTF-8 are an error, as the format requires, unless the file declares ISO-8859-1.
 */
export function asUtf8(chunk: Uint8Array, encoding: XmlEncoding): Utf8Chunk {
  if (encoding === 'iso-8859-1') {
    const bytes = Buffer.from(Buffer.from(chunk).toString('latin1'), 'utf8');
    return { bytes, validBytes: bytes.length };
  }
  if (isUtf8(chunk)) return { bytes: chunk, validBytes: chunk.length };
  // The converted bytes equal those of the chunk up to the first replacement character.
  const bytes = encoder.encode(decoder.decode(chunk));
  let validBytes = 0;
  while (chunk[validBytes] === bytes[validBytes]) validBytes++;
  // The first differing byte may be inside a UTF-8 character, whose first bytes are then equal; the valid bytes end before that character.
  while (validBytes > 0 && (bytes[validBytes]! & 0xc0) === 0x80) validBytes--;
  return { bytes, validBytes };
}

/** Returns the error for the first byte of a chunk that is not UTF-8, at `offset`. */
export function invalidByteFault(chunk: Uint8Array, offset: number): XmlFault {
  const hex = chunk[offset]!.toString(16).toUpperCase().padStart(2, '0');
  return new XmlFault(
    offset,
    `the byte 0x${hex} is not UTF-8, and the file declares no other encoding`,
  );
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
