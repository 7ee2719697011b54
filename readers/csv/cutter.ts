import { budgets } from '../../engine/budgets.js';
import type { Cut, Cutter, CutFault } from '../source/cutter.js';
import { CellScanner, matches } from './cells.js';
import type { CsvParams } from './params.js';

/**
 * Finds the last record that ends within some bytes. Only quotes can hide a line end, so the search goes from quote to quote
 * and looks at nothing else; without quotes it is one native search and a look at the last line.
 */
export class CsvCutter implements Cutter {
  readonly #scanner: CellScanner;
  readonly #skippedLines: readonly number[];
  readonly #delimiter: Uint8Array;
  readonly #quote: Uint8Array;
  readonly #comment: Uint8Array;
  /** Lines before the bytes to be seen next, counted as long as there are lines to skip. */
  #linesBefore: number;

  constructor(params: CsvParams, bodyLine: number) {
    this.#scanner = new CellScanner(params);
    this.#skippedLines = params.skippedLines.filter((line) => line >= bodyLine);
    this.#delimiter = encoder.encode(params.delimiter);
    this.#quote = encoder.encode(params.quote);
    this.#comment = encoder.encode(params.comment);
    this.#linesBefore = bodyLine;
  }

  next(bytes: Uint8Array, isLast: boolean): Cut | CutFault {
    const lastSkipped = this.#skippedLines.at(-1) ?? -1;
    const skipping =
      lastSkipped < this.#linesBefore
        ? { end: 0, line: this.#linesBefore, dropped: [] }
        : this.#skip(bytes, isLast, lastSkipped);
    const { end, line, dropped } = skipping;
    const found = this.#lastBorder(bytes, end, isLast);
    if (typeof found !== 'number') return found;
    // While lines are still counted, the bytes end where the counting did.
    const border = line <= lastSkipped ? end : found;
    if (border > 0) this.#linesBefore = line;
    return { kind: 'cut', end: border, dropped };
  }

  /** Goes record by record until no lines are left to skip; returns the last border and how many lines are before it. */
  #skip(bytes: Uint8Array, isLast: boolean, lastSkipped: number) {
    const scanner = this.#scanner;
    const skipped = new Set(this.#skippedLines);
    const dropped: [from: number, to: number][] = [];
    scanner.open(bytes, this.#linesBefore);
    let border = 0;
    let line = this.#linesBefore;
    while (border < bytes.length && line <= lastSkipped) {
      let end = border;
      const isSkipped = skipped.has(line);
      scanner.line = line + 1;
      if (isSkipped || scanner.isComment(end)) end = scanner.lineEnd(end);
      else
        for (end = scanner.cell(end); scanner.isDelimiter(end);)
          end = scanner.cell(scanner.afterDelimiter(end));
      const next = Math.min(scanner.afterLineEnd(end), bytes.length);
      // At the end of the bytes the record may go on, or a LF follow the CR.
      const isWhole = isLast || next < bytes.length || bytes[next - 1] === 10;
      if (!isWhole || (scanner.openedOnLine > 0 && !isLast)) break;
      // Without the text between them, the CR before and the LF behind would be one line end: cut there.
      if (isSkipped && border > 0 && bytes[border - 1] === 13 && bytes[end] === 10) break;
      if (isSkipped) dropped.push([border, Math.min(end, bytes.length)]);
      border = next;
      line = scanner.line;
    }
    return { end: border, line, dropped };
  }

  /** The position behind the last record that ends in the bytes, of which one begins at `start`. */
  #lastBorder(bytes: Uint8Array, start: number, isLast: boolean): number | CutFault {
    if (isLast && bytes.length - start <= budgets.textBytes) return bytes.length;
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    let border = start;
    /** Behind the last closing quote; between it and `at` no quote opens. */
    let closed = start;
    for (let at = start; ;) {
      const open = this.#find(text, at);
      if (open < 0) break;
      at = open + 1;
      if (!this.#isCellStart(bytes, open, closed, start)) continue;
      const lineStart = startOfLine(bytes, open, closed);
      if (lineStart > closed || lineStart === start) {
        border = Math.max(border, lineStart);
        if (this.#comment.length > 0 && matches(bytes, lineStart, this.#comment)) {
          at = closed = Math.max(endOfLine(bytes, open), closed);
          continue;
        }
      }
      const close = this.#close(text, open + this.#quote.length, isLast);
      const size = (close < 0 ? bytes.length : close) - open;
      if (size > budgets.textBytes + 2 * this.#quote.length) return tooLong(open);
      if (close < 0) return isLast ? bytes.length : border;
      at = closed = close;
    }
    if (isLast) return bytes.length;
    const last = lastLineEnd(bytes, closed);
    return last > closed ? last : border;
  }

  /** The next quote from `at` on, -1 when there is none. */
  #find(text: Buffer, at: number): number {
    const quote = this.#quote;
    if (quote.length === 0) return -1;
    if (quote.length > 1) return text.indexOf(quote, at);
    // Quotes mostly come in crowds or not at all: a short look of our own first, then the native search.
    const byte = quote[0]!;
    const near = Math.min(at + 64, text.length);
    for (let i = at; i < near; i++) if (text[i] === byte) return i;
    return near === text.length ? -1 : text.indexOf(byte, near);
  }

  /** The position behind the quote that closes the cell; -1 when the bytes do not tell. */
  #close(text: Buffer, from: number, isLast: boolean): number {
    const quote = this.#quote;
    for (let at = from; ;) {
      const found = this.#find(text, at);
      if (found < 0) return -1;
      const behind = found + quote.length;
      if (behind + quote.length > text.length) return isLast ? behind : -1;
      if (!matches(text, behind, quote)) return behind;
      at = behind + quote.length;
    }
  }

  #isCellStart(bytes: Uint8Array, at: number, closed: number, start: number): boolean {
    if (at === start) return true;
    const previous = bytes[at - 1];
    if (previous === 10 || previous === 13) return true;
    const from = at - this.#delimiter.length;
    return from >= closed && matches(bytes, from, this.#delimiter);
  }
}

/** Behind the last line end in `[from, at)`, or `from` when there is none. */
function startOfLine(bytes: Uint8Array, at: number, from: number): number {
  let start = at;
  while (start > from && bytes[start - 1] !== 10 && bytes[start - 1] !== 13) start--;
  return start;
}

function endOfLine(bytes: Uint8Array, at: number): number {
  let end = at;
  while (end < bytes.length && bytes[end] !== 10 && bytes[end] !== 13) end++;
  return end;
}

/** Behind the last line end from `from` on; a CR as the very last byte is none yet, because a LF may follow. */
function lastLineEnd(bytes: Uint8Array, from: number): number {
  const end = bytes.at(-1) === 13 ? bytes.length - 1 : bytes.length;
  return startOfLine(bytes, end, from);
}

function tooLong(at: number): CutFault {
  return {
    kind: 'fault',
    at,
    message: `a quote that is opened here is not closed within ${budgets.textBytes} bytes (budget textBytes)`,
  };
}

const encoder = new TextEncoder();
