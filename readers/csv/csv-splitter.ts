import { budgets } from '../../engine/core/budgets.js';
import type { RecordBoundary, Splitter, SplitFault } from '../source/splitter.js';
import { CellScanner, matchesBytes } from './cell-scanner.js';
import { ByteSet, scanBuffer } from '../text/scan-buffer.js';
import { quoteTooLongMessage } from './csv-header.js';
import type { CsvFormat } from './csv-params.js';

/**
 * Finds the last record boundary within some bytes, and the lines to skip. Only quotes can enclose line ends that do not end a record, so
 * the search looks only for quotes and line ends; if the parameters say that cells are never quoted, it looks only for the last line end.
 * While there are lines to skip, records are scanned one by one.
 */
export class CsvSplitter implements Splitter {
  readonly #scanner: CellScanner;
  readonly #skippedLines: readonly number[];
  readonly #delimiter: Uint8Array;
  readonly #quote: Uint8Array;
  readonly #comment: Uint8Array;
  readonly #searchedBytes: ByteSet;
  readonly #window = scanBuffer();
  /** Number of lines before the next bytes; counted only while there are lines to skip. */
  #linesBefore: number;

  constructor(params: CsvFormat, bodyLine: number) {
    this.#scanner = new CellScanner(params);
    this.#skippedLines = params.skippedLines.filter((line) => line >= bodyLine);
    this.#delimiter = encoder.encode(params.delimiter);
    this.#quote = encoder.encode(params.quote);
    this.#comment = encoder.encode(params.comment);
    this.#linesBefore = bodyLine;
    this.#searchedBytes = new ByteSet([...this.#quote.subarray(0, 1), 10, 13]);
  }

  next(bytes: Uint8Array, isLast: boolean): RecordBoundary | SplitFault {
    const lastSkippedLine = this.#skippedLines.at(-1) ?? -1;
    const skipResult =
      lastSkippedLine < this.#linesBefore
        ? { end: 0, line: this.#linesBefore, dropped: [] }
        : this.#skipLines(bytes, isLast, lastSkippedLine);
    const { end, line, dropped } = skipResult;
    const lastBoundary = this.#findLastBoundary(bytes, end, isLast);
    if (typeof lastBoundary !== 'number') return lastBoundary;
    // While lines are being skipped, the text is split after the last counted line.
    const boundary = line <= lastSkippedLine ? end : lastBoundary;
    if (boundary > 0) this.#linesBefore = line;
    return { kind: 'split', end: boundary, dropped };
  }

  /**
   * Scans record by record until no lines are left to skip or no further record is complete. Returns the last boundary, the number of lines
   * before it, and the ranges to drop.
   */
  #skipLines(bytes: Uint8Array, isLast: boolean, lastSkippedLine: number) {
    const scanner = this.#scanner;
    const skippedLines = new Set(this.#skippedLines);
    const droppedRanges: [from: number, to: number][] = [];
    scanner.setText(bytes, this.#linesBefore);
    let boundary = 0;
    let line = this.#linesBefore;
    while (boundary < bytes.length && line <= lastSkippedLine) {
      let end = boundary;
      const isSkipped = skippedLines.has(line);
      scanner.line = line + 1;
      if (isSkipped || scanner.isComment(end)) end = scanner.findLineEnd(end);
      else
        for (end = scanner.scanCell(end); scanner.isDelimiter(end);)
          end = scanner.scanCell(scanner.afterDelimiter(end));
      const nextStart = Math.min(scanner.afterLineEnd(end), bytes.length);
      // At the end of the bytes, the record may not be complete, or an LF may follow its CR.
      const isWhole = isLast || nextStart < bytes.length || bytes[nextStart - 1] === 10;
      if (!isWhole || (scanner.unclosedQuoteLine > 0 && !isLast)) break;
      // Dropping the line between a CR and an LF would join these to one line end, so the text is split before the line.
      if (isSkipped && boundary > 0 && bytes[boundary - 1] === 13 && bytes[end] === 10) break;
      if (isSkipped) droppedRanges.push([boundary, Math.min(end, bytes.length)]);
      boundary = nextStart;
      line = scanner.line;
    }
    return { end: boundary, line, dropped: droppedRanges };
  }

  /**
   * Returns the end of the last complete record from `start` on, where a record must begin: `start` if there is none, and the end of the
   * bytes if they are the last ones. A quoted cell that is too long is a fault.
   */
  #findLastBoundary(bytes: Uint8Array, start: number, isLast: boolean): number | SplitFault {
    const { length } = bytes;
    const quote = this.#quote;
    if (isLast && length - start <= budgets.textBytes) return length;
    if (quote.length === 0) return isLast ? length : afterLastCompleteLine(bytes, start);
    let boundary = start;
    let openQuoteAt = -1; // position of the quote that is still open; -1 for none
    let lastQuoteEnd = start; // end of the last closing quote
    let examinedEnd = start; // end of the bytes that have been examined
    let isInComment = this.#isComment(bytes, start);
    const { positions } = this.#window;
    for (let from = start; from < length; from += this.#window.textLength) {
      this.#window.loadText(bytes, from);
      const positionCount = this.#window.search(this.#searchedBytes);
      for (let i = 0; i < positionCount; i++) {
        const at = from + positions[i]!;
        if (at < examinedEnd) continue;
        const c = bytes[at]!;
        if (c === 10 || c === 13) {
          // An LF may follow a CR that is the last byte, so its line is not complete yet.
          if (openQuoteAt >= 0 || (c === 13 && at === length - 1)) continue;
          boundary = at + 1;
          isInComment = this.#isComment(bytes, boundary);
        } else if (isInComment || !matchesBytes(bytes, at, quote)) continue;
        else if (openQuoteAt < 0) {
          if (this.#isCellStart(bytes, at, lastQuoteEnd, start)) openQuoteAt = at;
          examinedEnd = openQuoteAt < 0 ? examinedEnd : at + quote.length;
        } else {
          const afterQuote = at + quote.length;
          examinedEnd = afterQuote;
          const isWhole = afterQuote + quote.length <= length;
          if (isWhole && matchesBytes(bytes, afterQuote, quote)) examinedEnd += quote.length;
          else if (isWhole || isLast) {
            if (this.#isTooLong(openQuoteAt, afterQuote)) return quoteTooLongFault(openQuoteAt);
            openQuoteAt = -1;
            lastQuoteEnd = afterQuote;
          }
        }
      }
    }
    if (openQuoteAt >= 0 && this.#isTooLong(openQuoteAt, length))
      return quoteTooLongFault(openQuoteAt);
    return isLast ? length : boundary;
  }

  #isTooLong(quoteAt: number, end: number): boolean {
    return end - quoteAt > budgets.textBytes + 2 * this.#quote.length;
  }

  #isComment(bytes: Uint8Array, at: number): boolean {
    return this.#comment.length > 0 && matchesBytes(bytes, at, this.#comment);
  }

  #isCellStart(bytes: Uint8Array, at: number, lastQuoteEnd: number, start: number): boolean {
    if (at === start) return true;
    const previous = bytes[at - 1];
    if (previous === 10 || previous === 13) return true;
    const from = at - this.#delimiter.length;
    return from >= lastQuoteEnd && matchesBytes(bytes, from, this.#delimiter);
  }
}

/** Returns the position after the last line end in `[from, at)`; `from` if there is none. */
function afterLastLineEnd(bytes: Uint8Array, at: number, from: number): number {
  let start = at;
  while (start > from && bytes[start - 1] !== 10 && bytes[start - 1] !== 13) start--;
  return start;
}

/** Returns the position after the last line end from `from` on. A CR that is the last byte does not count, because an LF may follow. */
function afterLastCompleteLine(bytes: Uint8Array, from: number): number {
  const end = bytes.at(-1) === 13 ? bytes.length - 1 : bytes.length;
  return afterLastLineEnd(bytes, end, from);
}

function quoteTooLongFault(at: number): SplitFault {
  return {
    kind: 'fault',
    at,
    message: quoteTooLongMessage,
  };
}

const encoder = new TextEncoder();
