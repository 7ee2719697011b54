import { isUtf8 } from 'node:buffer';
import { InputError } from '../../engine/core/errors.js';
import type { HeaderSource } from '../reader.js';
import {
  byte,
  columnsBefore,
  countLineEnds,
  findText,
  isSpace,
  nameBytes,
  nameShown,
  shownCharacter,
  standsAt,
  XmlFault,
} from './characters.js';

/** The text before the root element. */
export interface XmlHeader {
  readonly encoding: XmlEncoding;
  /** The root element's name, null for an empty file. */
  readonly root: string | null;
  /** The position of the root element. */
  readonly bodyOffset: number;
  readonly bodyLine: number;
  /** Characters before it on its line. */
  readonly column: number;
}

/** The encodings that are read; US-ASCII is UTF-8 too. */
export type XmlEncoding = 'utf-8' | 'iso-8859-1';

/** Document types are a few kilobytes. */
const maxBytes = 16 << 20;

const encodings: Readonly<Record<string, XmlEncoding>> = {
  'utf-8': 'utf-8',
  utf8: 'utf-8',
  'us-ascii': 'utf-8',
  ascii: 'utf-8',
  'iso-8859-1': 'iso-8859-1',
  latin1: 'iso-8859-1',
};

/** Reads up to the root element. A document type is passed over: nothing in it is used, and nothing is fetched for it. */
export async function readXmlHeaderer(source: HeaderSource): Promise<XmlHeader> {
  for (let size = 1 << 16; ; size *= 4) {
    const { bytes, isWhole } = await source.bytes(size);
    try {
      return headIn(bytes);
    } catch (error) {
      if (!(error instanceof XmlFault)) throw error;
      // The header may merely be incomplete.
      if (!isWhole && size < maxBytes) continue;
      const line = countLineEnds(bytes, 0, error.at) + 1;
      const column = columnsBefore(bytes, error.at, 0) + 1;
      const position = { file: source.name, line, column, byte: error.at };
      throw new InputError(position, `column ${column}: ${error.message}`);
    }
  }
}

function headIn(bytes: Uint8Array): XmlHeader {
  if (bytes.length === 0)
    return { encoding: 'utf-8', root: null, bodyOffset: 0, bodyLine: 0, column: 0 };
  let encoding: XmlEncoding | null = null;
  let hasType = false;
  for (let at = 0; ;) {
    while (isSpace(bytes[at])) at++;
    if (bytes[at] !== byte.open || bytes[at + 1] === 0) {
      if (bytes[at] === 0 || bytes[at + 1] === 0)
        throw new XmlFault(at, 'this is UTF-16 text: save it as UTF-8');
      if (at < bytes.length)
        throw new XmlFault(at, `this is no XML: expected "<", found ${shownCharacter(bytes, at)}`);
      throw new XmlFault(at, 'there is no root element');
    }
    if (bytes[at + 1] === byte.question) {
      const isFirst = encoding === null && !hasType;
      const end = endOf(bytes, '?>', at, 2);
      // Choice: blanks before the XML declaration are passed over.
      if (isFirst && standsAt(bytes, '<?xml', at) && isSpace(bytes[at + 5]))
        encoding = declaredEncoding(bytes, at, end);
      else if (/^xml$/i.test(nameShown(bytes, at + 2)))
        throw new XmlFault(at, 'the XML declaration must come first');
      at = end;
    } else if (standsAt(bytes, '<!--', at)) at = endOf(bytes, '-->', at, 4);
    else if (standsAt(bytes, '<!DOCTYPE', at)) {
      if (hasType) throw new XmlFault(at, 'there is a second DOCTYPE');
      hasType = true;
      at = behindType(bytes, at);
    } else if (nameBytes[bytes[at + 1]!] === 2) {
      return {
        encoding: encoding ?? 'utf-8',
        root: nameShown(bytes, at + 1),
        bodyOffset: at,
        bodyLine: countLineEnds(bytes, 0, at),
        column: columnsBefore(bytes, at, 0),
      };
    } else throw new XmlFault(at, 'expected the root element');
  }
}

/** The position after the next `text`, which closes the construct at `at`. */
function endOf(bytes: Uint8Array, text: string, at: number, size: number): number {
  const found = findText(bytes, text, at + size);
  if (found < 0) throw new XmlFault(at, 'what begins here does not end');
  return found + text.length;
}

function declaredEncoding(bytes: Uint8Array, from: number, to: number): XmlEncoding {
  const text = Buffer.from(bytes.subarray(from, to)).toString('latin1');
  const namedEncoding = /\sencoding\s*=\s*(?:"([^"]*)"|'([^']*)')/.exec(text);
  const name = namedEncoding === null ? 'utf-8' : (namedEncoding[1] ?? namedEncoding[2] ?? '');
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

/** The position after the document type that begins at `at`, which may contain quotes, comments and instructions. */
function behindType(bytes: Uint8Array, start: number): number {
  let isInside = false;
  for (let at = start + 9; at < bytes.length; at++) {
    const c = bytes[at]!;
    if (c === byte.doubleQuote || c === byte.singleQuote) {
      at = bytes.indexOf(c, at + 1);
      if (at < 0) break;
    } else if (c === byte.openBracket) isInside = true;
    else if (c === byte.closeBracket) isInside = false;
    else if (c === byte.close && !isInside) return at + 1;
    else if (standsAt(bytes, '<!--', at)) at = endOf(bytes, '-->', at, 4) - 1;
    else if (standsAt(bytes, '<?', at)) at = endOf(bytes, '?>', at, 2) - 1;
  }
  throw new XmlFault(start, 'the DOCTYPE that begins here does not end');
}

/** A chunk in UTF-8; `good` is where its first bytes that are not UTF-8 begin, its length when there are none. */
export interface Utf8 {
  readonly bytes: Uint8Array;
  readonly good: number;
}

/** The chunk in UTF-8. Choice: bytes that are not UTF-8 are an error, as the format has it, unless the file declares ISO-8859-1. */
export function asUtf8(chunk: Uint8Array, encoding: XmlEncoding): Utf8 {
  if (encoding === 'iso-8859-1') {
    const bytes = Buffer.from(Buffer.from(chunk).toString('latin1'), 'utf8');
    return { bytes, good: bytes.length };
  }
  if (isUtf8(chunk)) return { bytes: chunk, good: chunk.length };
  // The bytes are equal up to the first replacement character.
  const bytes = encoder.encode(decoder.decode(chunk));
  let goodBytes = 0;
  while (chunk[goodBytes] === bytes[goodBytes]) goodBytes++;
  // The difference may be in the middle of a character, whose first bytes are then equal.
  while (goodBytes > 0 && (bytes[goodBytes]! & 0xc0) === 0x80) goodBytes--;
  return { bytes, good: goodBytes };
}

/** The error of a chunk at its first bytes that are not UTF-8. */
export function badByte(chunk: Uint8Array, good: number): XmlFault {
  const hex = chunk[good]!.toString(16).toUpperCase().padStart(2, '0');
  return new XmlFault(
    good,
    `the byte 0x${hex} is not UTF-8, and the file declares no other encoding`,
  );
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
