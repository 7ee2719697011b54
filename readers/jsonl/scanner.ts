import { budgets } from '../../engine/core/budgets.js';

/** Thrown for a line that is not JSON; the parser catches it and rejects the line. */
export class MalformedLine extends Error {}

/** A scanned string, `bytes[from..to)`; valid until the next string is scanned. */
interface ScannedString {
  bytes: Uint8Array;
  from: number;
  to: number;
}

/** Bytes with a meaning in JSON that several classes use. */
export const jsonBytes = {
  quote: 34,
  comma: 44,
  minus: 45,
  colon: 58,
  openList: 91,
  closeList: 93,
  openObject: 123,
  closeObject: 125,
} as const;

/** Scans the tokens of JSON lines. */
export abstract class JsonScanner {
  protected bytes: Uint8Array = new Uint8Array(0);
  /** The position in `bytes` of the next byte to scan; `textEnd` is the end of the text. */
  protected scanOffset = 0;
  protected textEnd = 0;
  protected nestingDepth = 0;
  /** Start of the current line, for messages. */
  protected lineStart = 0;
  /** Whether the line has an escape of a lone surrogate, which became U+FFFD. */
  protected hasLoneSurrogate = false;
  readonly #scannedString: ScannedString = { bytes: this.bytes, from: 0, to: 0 };
  #scratch: Uint8Array = new Uint8Array(1024);

  protected startText(bytes: Uint8Array, at: number): void {
    this.bytes = bytes;
    this.scanOffset = at;
    this.textEnd = bytes.length;
  }

  /** Skips spaces and tabs; returns the next byte, or undefined at the end of the text. */
  protected skipSpace(): number {
    let c = this.bytes[this.scanOffset]!;
    while (c === 32 || c === 9) c = this.bytes[++this.scanOffset]!;
    return c;
  }

  protected isLineEnd(): boolean {
    const c = this.bytes[this.scanOffset];
    return c === 10 || c === 13 || this.scanOffset >= this.textEnd;
  }

  /** Enters an object or list: moves past the opening bracket. */
  protected enterNesting(): void {
    if (++this.nestingDepth > budgets.jsonDepth)
      this.fail(
        `a record may nest at most ${budgets.jsonDepth} levels deep: flatten what is deeper, or store it as a string`,
      );
    this.scanOffset++;
  }

  /** Leaves an object or list: moves past the closing bracket. */
  protected leaveNesting(): void {
    this.nestingDepth--;
    this.scanOffset++;
  }

  /** Moves past a literal, such as `true`. */
  protected skipLiteral(text: string): void {
    for (let i = 0; i < text.length; i++) {
      if (this.bytes[this.scanOffset + i] !== text.charCodeAt(i))
        this.fail(`unexpected ${this.describeCurrent()}`);
    }
    this.scanOffset += text.length;
  }

  /** Scans the string at the current position; returns it without quotes and escapes. */
  protected scanString(): ScannedString {
    const { bytes, textEnd } = this;
    const from = this.scanOffset + 1;
    let at = from;
    for (; at < textEnd; at++) {
      const c = bytes[at]!;
      if (c === jsonBytes.quote) {
        this.scanOffset = at + 1;
        const scannedString = this.#scannedString;
        scannedString.bytes = bytes;
        scannedString.from = from;
        scannedString.to = at;
        return scannedString;
      }
      if (c === 92) return this.#scanEscapedString(from, at);
      if (c < 32) break;
    }
    return this.#failInString(at);
  }

  /** Copies a string to the scratch buffer and decodes its escapes. The decoded string is never longer. */
  #scanEscapedString(from: number, firstEscape: number): ScannedString {
    const { bytes, textEnd: end } = this;
    let closeAt = firstEscape;
    for (; closeAt < end && bytes[closeAt] !== jsonBytes.quote; closeAt++) {
      // No escape contains a control character, so a backslash does not hide the end of the line.
      if (bytes[closeAt] === 92) closeAt++;
      if (closeAt < end && bytes[closeAt]! < 32) this.#failInString(closeAt);
    }
    if (closeAt >= end) this.#failInString(end);
    if (this.#scratch.length < closeAt - from) this.#scratch = new Uint8Array((closeAt - from) * 2);
    const scratch = this.#scratch;
    scratch.set(bytes.subarray(from, firstEscape));
    let to = firstEscape - from;
    for (let at = firstEscape; at < closeAt;) {
      const c = bytes[at]!;
      if (c !== 92) {
        scratch[to++] = c;
        at++;
        continue;
      }
      const letter = bytes[at + 1]!;
      if (letter === 117) {
        let code = this.#parseHexDigits(at + 2);
        at += 6;
        if (code >= 0xd800 && code < 0xdc00 && bytes[at] === 92 && bytes[at + 1] === 117) {
          const lowSurrogate = this.#parseHexDigits(at + 2);
          if (lowSurrogate >= 0xdc00 && lowSurrogate < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (lowSurrogate - 0xdc00);
            at += 6;
          }
        }
        if (code >= 0xd800 && code < 0xe000) {
          code = 0xfffd;
          this.hasLoneSurrogate = true;
        }
        to = encodeCodePoint(code, scratch, to);
      } else {
        const escapedByte = escapedCharacters[letter] ?? 0;
        if (escapedByte === 0) this.failAt(at, 'an invalid escape in a string');
        scratch[to++] = escapedByte;
        at += 2;
      }
    }
    this.scanOffset = closeAt + 1;
    const scannedString = this.#scannedString;
    scannedString.bytes = scratch;
    scannedString.from = 0;
    scannedString.to = to;
    return scannedString;
  }

  #parseHexDigits(from: number): number {
    let code = 0;
    for (let i = from; i < from + 4; i++) {
      const digit = hexDigits.indexOf(String.fromCharCode(this.bytes[i] ?? 0).toLowerCase());
      if (digit < 0) this.failAt(from - 2, 'an invalid escape in a string');
      code = code * 16 + digit;
    }
    return code;
  }

  #failInString(at: number): never {
    const c = this.bytes[at];
    const isLineEnd = at >= this.textEnd || c === 10 || c === 13;
    return this.failAt(
      at,
      isLineEnd ? 'the line ends within a string' : 'an unescaped control character in a string',
    );
  }

  /** Returns the character at the current position in a form for messages. */
  protected describeCurrent(): string {
    if (this.isLineEnd()) return 'the end of the line';
    const text = decoder.decode(
      this.bytes.subarray(this.scanOffset, Math.min(this.scanOffset + 4, this.textEnd)),
    );
    return JSON.stringify(String.fromCodePoint(text.codePointAt(0) ?? 0));
  }

  protected fail(reason: string): never {
    throw new MalformedLine(reason);
  }

  protected failAt(at: number, reason: string): never {
    this.scanOffset = at;
    throw new MalformedLine(reason);
  }

  /** Returns the column number of the current position in UTF-16 code units, counted from 1. */
  protected currentColumn(): number {
    return decoder.decode(this.bytes.subarray(this.lineStart, this.scanOffset)).length + 1;
  }
}

/**
 * Replaces escapes of lone surrogates by U+FFFD, because some JSON parsers reject them. `json` must come from `JSON.stringify`, which
 * escapes no other surrogates.
 */
export function replaceLoneSurrogateEscapes(json: string): string {
  return json.replace(/\\(?:\\|u(d[89a-f][0-9a-f]{2}))/g, (escape, half) =>
    half === undefined ? escape : '\ufffd',
  );
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

const hexDigits = '0123456789abcdef';

/** For each byte after a backslash, the character that the escape stands for; 0 for an invalid escape and for `u`. */
const escapedCharacters = new Uint8Array(256);
for (const [letter, text] of ['""', '\\\\', '//', 'b\b', 'f\f', 'n\n', 'r\r', 't\t'])
  escapedCharacters[letter!.charCodeAt(0)] = text!.charCodeAt(0);

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
