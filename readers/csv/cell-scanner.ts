import type { CsvFormat } from './csv-params.js';

/**
 * Scans text cell by cell. Choice: a CSV cell that begins with the quote character begins with a quoted part, which extends to the next
 * quote that is not doubled, across line ends; a doubled quote in it stands for a single one. Text between the closing quote and the
 * delimiter is part of the cell, too. Outside the quoted part, a quote is an ordinary character. Lines end with LF, CRLF or CR.
 */
export class CellScanner {
  /** The text. Unless it is empty, it ends with a line end, so that scanning an unquoted cell needs no check for the end of the text. */
  protected bytes: Uint8Array = new Uint8Array(0);
  /** The number of the current line, counted from 1. */
  line = 0;
  /** The cell that was scanned last is `cellSource[cellFrom..cellTo)`. */
  cellSource: Uint8Array = this.bytes;
  cellFrom = 0;
  cellTo = 0;
  /** The line of a quote that is not closed; 0 if there is none. */
  unclosedQuoteLine = 0;
  protected readonly delimiter: Uint8Array;
  readonly #quote: Uint8Array;
  // The first byte of the delimiter; `#quoteByte` is that of the quote, or -1 without a quote.
  protected readonly delimiterByte: number;
  readonly #quoteByte: number;
  readonly #comment: Uint8Array;
  /** 1 for bytes that may end an unquoted cell, else 0. */
  readonly #stops = new Uint8Array(256);

  constructor({ delimiter, quote, comment }: CsvFormat) {
    this.delimiter = encoder.encode(delimiter);
    this.#quote = encoder.encode(quote);
    this.#comment = encoder.encode(comment);
    this.delimiterByte = this.delimiter[0]!;
    this.#quoteByte = this.#quote[0] ?? -1;
    for (const byte of [this.delimiterByte, 10, 13]) this.#stops[byte] = 1;
  }

  /** Sets the text, which must begin at the start of a line; `linesBefore` lines precede it. */
  setText(text: Uint8Array, linesBefore = 0): void {
    this.bytes = withLineEnd(text);
    this.line = linesBefore;
    this.unclosedQuoteLine = 0;
  }

  /**
   * Scans the cell that begins at `at`; returns the position of the delimiter or line end that follows it, or the length of the text if a
   * quote is not closed.
   */
  scanCell(at: number): number {
    const { bytes } = this;
    if (bytes[at] === this.#quoteByte && matchesBytes(bytes, at, this.#quote)) {
      return this.#scanQuotedCell(at + this.#quote.length);
    }
    const end = this.#findUnquotedEnd(at);
    this.cellSource = bytes;
    this.cellFrom = at;
    this.cellTo = end;
    return end;
  }

  /** Returns whether the cell that ends at `at` is followed by the delimiter, not by a line end. */
  isDelimiter(at: number): boolean {
    return this.bytes[at] === this.delimiterByte;
  }

  /** Returns the position after the delimiter at `at`. */
  afterDelimiter(at: number): number {
    return at + this.delimiter.length;
  }

  isLineEnd(at: number): boolean {
    const c = this.bytes[at];
    return c === 10 || c === 13;
  }

  isComment(at: number): boolean {
    const comment = this.#comment;
    return comment.length > 0 && matchesBytes(this.bytes, at, comment);
  }

  /** Returns the position of the first line end from `at` on, whether quoted or not. */
  findLineEnd(at: number): number {
    const { bytes } = this;
    let end = at;
    while (end < bytes.length && bytes[end] !== 10 && bytes[end] !== 13) end++;
    return end;
  }

  /** Returns the position after the line end at `at`. */
  afterLineEnd(at: number): number {
    return this.bytes[at] === 13 && this.bytes[at + 1] === 10 ? at + 2 : at + 1;
  }

  #findUnquotedEnd(at: number): number {
    const { bytes, delimiter } = this;
    const stops = this.#stops;
    let end = at;
    for (;;) {
      while (stops[bytes[end]!] === 0) end++;
      if (delimiter.length === 1 || bytes[end] !== this.delimiterByte) return end;
      if (matchesBytes(bytes, end, delimiter)) return end;
      end++;
    }
  }

  /** Scans the quoted cell whose text begins at `start`; returns the position after the cell. */
  #scanQuotedCell(start: number): number {
    const { bytes } = this;
    const quote = this.#quote;
    const quoteLine = this.line;
    let hasDoubledQuote = false;
    let at = start;
    for (; at < bytes.length; at++) {
      const c = bytes[at]!;
      if (c === this.#quoteByte && matchesBytes(bytes, at, quote)) {
        if (!matchesBytes(bytes, at + quote.length, quote)) break;
        hasDoubledQuote = true;
        at += 2 * quote.length - 1;
      } else if (c === 10 || (c === 13 && bytes[at + 1] !== 10)) this.line++;
    }
    this.cellSource = bytes;
    this.cellFrom = start;
    this.cellTo = Math.min(at, bytes.length);
    if (at >= bytes.length) {
      this.unclosedQuoteLine = quoteLine;
      return bytes.length;
    }
    const quoteEnd = at + quote.length;
    const end = this.#findUnquotedEnd(quoteEnd);
    if (hasDoubledQuote || end > quoteEnd) this.#copyCell(start, at, quoteEnd, end);
    return end;
  }

  /** Copies the text of a cell: the quoted part with doubled quotes replaced by single ones, and the text after the closing quote. */
  #copyCell(start: number, closeAt: number, quoteEnd: number, end: number): void {
    const { bytes } = this;
    const quote = this.#quote;
    const copiedBytes = new Uint8Array(end - start);
    let length = 0;
    for (let at = start; at < closeAt; at++) {
      copiedBytes[length++] = bytes[at]!;
      if (bytes[at] !== this.#quoteByte || !matchesBytes(bytes, at, quote)) continue;
      for (let i = 1; i < quote.length; i++) copiedBytes[length++] = quote[i]!;
      at += 2 * quote.length - 1;
    }
    copiedBytes.set(bytes.subarray(quoteEnd, end), length);
    this.cellSource = copiedBytes;
    this.cellFrom = 0;
    this.cellTo = length + end - quoteEnd;
  }
}

/** Returns whether `bytes` contains `pattern` at position `at`. */
export function matchesBytes(bytes: Uint8Array, at: number, pattern: Uint8Array): boolean {
  for (let i = 0; i < pattern.length; i++) if (bytes[at + i] !== pattern[i]) return false;
  return true;
}

function withLineEnd(text: Uint8Array): Uint8Array {
  const lastByte = text.at(-1);
  // A Buffer has a different hidden class from a Uint8Array, so it is converted: with only one class, the loops stay monomorphic.
  if (lastByte === undefined || lastByte === 10 || lastByte === 13)
    return new Uint8Array(text.buffer, text.byteOffset, text.length);
  const paddedText = new Uint8Array(text.length + 1);
  paddedText.set(text);
  paddedText[text.length] = 10;
  return paddedText;
}

const encoder = new TextEncoder();
