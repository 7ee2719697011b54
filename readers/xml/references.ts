import {
  asciiCodes,
  isXmlCharacter,
  shortenedNameAt,
  hasTextAt,
  XmlFault,
} from './xml-characters.js';

/** The bytes of a resolved text, `text[0..end)`; valid until the next call of `ReferenceResolver`. */
interface ResolvedText {
  text: Uint8Array;
  end: number;
}

/** The entities that XML predefines. Entities of a document type are never read or expanded. */
const predefinedEntities = [
  { name: 'lt;', code: 60 },
  { name: 'gt;', code: 62 },
  { name: 'amp;', code: 38 },
  { name: 'quot;', code: 34 },
  { name: 'apos;', code: 39 },
];

/** Maximum number of bytes of a reference, from `&` on; a longer one is an error. */
const maxReferenceBytes = 64;

/** Resolves references and unifies line ends. The result is never longer than the text. */
export class ReferenceResolver {
  readonly #resolvedText: ResolvedText = { text: new Uint8Array(1024), end: 0 };

  /** Returns the text in `[from, to)`; in the value of an attribute, white space becomes blanks (XML 1.0, section 3.3.3). */
  resolve(bytes: Uint8Array, from: number, to: number, isAttributeValue: boolean): ResolvedText {
    const resolvedText = this.#reserve(to - from);
    const { text } = resolvedText;
    let end = 0;
    for (let at = from; at < to; at++) {
      const c = bytes[at]!;
      if (c === asciiCodes.ampersand) {
        const maxAt = Math.min(to, at + maxReferenceBytes);
        let closeAt = at + 1;
        while (closeAt < maxAt && bytes[closeAt] !== asciiCodes.semicolon) closeAt++;
        const code = this.#codeOfReference(bytes, at, closeAt < maxAt ? closeAt : -1);
        end = encodeCodePoint(code, text, end);
        at = closeAt;
      } else if (c >= 32) text[end++] = c;
      else if (c === asciiCodes.carriageReturn) {
        if (bytes[at + 1] !== asciiCodes.lineFeed || at + 1 >= to)
          text[end++] = isAttributeValue ? 32 : 10;
      } else if (c === asciiCodes.lineFeed || c === asciiCodes.tab)
        text[end++] = isAttributeValue ? 32 : c;
      else throw forbiddenCharacterFault(at, c);
    }
    resolvedText.end = end;
    return resolvedText;
  }

  /** Returns the text of a CDATA section with normalised line ends; null when it has no carriage return. */
  normalizeCdata(bytes: Uint8Array, from: number, to: number): ResolvedText | null {
    let hasNoReturn = true;
    for (let at = from; at < to; at++) {
      const c = bytes[at]!;
      if (c >= 32 || c === asciiCodes.lineFeed || c === asciiCodes.tab) continue;
      if (c !== asciiCodes.carriageReturn) throw forbiddenCharacterFault(at, c);
      hasNoReturn = false;
    }
    if (hasNoReturn) return null;
    const resolvedText = this.#reserve(to - from);
    let end = 0;
    for (let at = from; at < to; at++) {
      const c = bytes[at]!;
      if (c !== asciiCodes.carriageReturn) resolvedText.text[end++] = c;
      else if (at + 1 >= to || bytes[at + 1] !== asciiCodes.lineFeed) resolvedText.text[end++] = 10;
    }
    resolvedText.end = end;
    return resolvedText;
  }

  /** Returns the code point for the reference `[at, close]`. */
  #codeOfReference(bytes: Uint8Array, at: number, close: number): number {
    if (close <= at + 1) throw new XmlFault(at, '"&" begins no reference here: write it as &amp;');
    if (bytes[at + 1] === asciiCodes.hash) return numericReferenceCode(bytes, at, close);
    for (const { name, code } of predefinedEntities)
      if (hasTextAt(bytes, name, at + 1)) return code;
    const name = shortenedNameAt(bytes, at + 1);
    if (bytes[at + 1 + Buffer.byteLength(name)] !== asciiCodes.semicolon)
      throw new XmlFault(at, '"&" begins no reference here: write it as &amp;');
    throw new XmlFault(
      at,
      `the entity &${name}; is none of &lt; &gt; &amp; &quot; &apos;: what a DOCTYPE declares is not used`,
    );
  }

  #reserve(size: number): ResolvedText {
    if (this.#resolvedText.text.length < size) this.#resolvedText.text = new Uint8Array(size * 2);
    return this.#resolvedText;
  }
}

function forbiddenCharacterFault(at: number, c: number): XmlFault {
  return new XmlFault(at, `the control character 0x${c.toString(16)} is not allowed in XML`);
}

const codePointLimit = 0x110000;

/**
 * Returns the code point of `&#…;` or `&#x…;`. It is computed digit by digit, without a string, because a text may consist of nothing but
 * such references.
 */
function numericReferenceCode(bytes: Uint8Array, at: number, close: number): number {
  const isHex = bytes[at + 2] === 120;
  const digitsFrom = at + (isHex ? 3 : 2);
  let code = digitsFrom < close ? 0 : -1;
  for (let i = digitsFrom; i < close; i++) {
    const c = bytes[i]!;
    const letter = c | 32;
    const digit = c <= 57 ? c - 48 : isHex && letter >= 97 && letter <= 102 ? letter - 87 : -1;
    if (digit < 0 || code < 0) code = -1;
    else if (code < codePointLimit) code = code * (isHex ? 16 : 10) + digit;
  }
  if (isXmlCharacter(code)) return code;
  const shownReference = decoder.decode(bytes.subarray(at, close + 1));
  throw new XmlFault(at, `${shownReference} is no character of XML`);
}

function encodeCodePoint(code: number, into: Uint8Array, at: number): number {
  if (code < 0x80) into[at++] = code;
  else if (code < 0x800) {
    into[at++] = 0xc0 | (code >> 6);
    into[at++] = 0x80 | (code & 63);
  } else if (code < 0x10000) {
    into[at++] = 0xe0 | (code >> 12);
    into[at++] = 0x80 | ((code >> 6) & 63);
    into[at++] = 0x80 | (code & 63);
  } else {
    into[at++] = 0xf0 | (code >> 18);
    into[at++] = 0x80 | ((code >> 12) & 63);
    into[at++] = 0x80 | ((code >> 6) & 63);
    into[at++] = 0x80 | (code & 63);
  }
  return at;
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
