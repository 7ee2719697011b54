import { budgets } from '../../engine/core/budgets.js';
import type { Split, Splitter, SplitFault } from '../source/splitter.js';
import { CellScanner, matches } from './cell-scanner.js';
import { ByteSet, scanBuffer } from '../text/scan-buffer.js';
import type { CsvParams } from './params.js';

/**
 * Finds the last record that ends within some bytes. Only quotes can hide a line end, so the search goes from
 * quote to quote and from line to line and looks at nothing else; without quotes it is a look at the last line.
 */
export class CsvSplitter implements Splitter {
  readonly #scanner: CellScanner;
  readonly #skippedLines: readonly number[];
  readonly #delimiter: Uint8Array;
  readonly #quote: Uint8Array;
  readonly #comment: Uint8Array;
  readonly #searched: ByteSet;
  readonly #window = scanBuffer();
  /** Lines before the bytes to be seen next, counted as long as there are lines to skip. */
  #linesBefore: number;

  constructor(params: CsvParams, bodyLine: number) {
    this.#scanner = new CellScanner(params);
    this.#skippedLines = params.skippedLines.filter((line) => line >= bodyLine);
    this.#delimiter = encoder.encode(params.delimiter);
    this.#quote = encoder.encode(params.quote);
    this.#comment = encoder.encode(params.comment);
    this.#linesBefore = bodyLine;
    this.#searched = new ByteSet([...this.#quote.subarray(0, 1), 10, 13]);
  }

  next(bytes: Uint8Array, isLast: boolean): Split | SplitFault {
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
    return { kind: 'split', end: border, dropped };
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
  #lastBorder(bytes: Uint8Array, start: number, isLast: boolean): number | SplitFault {
    const { length } = bytes;
    const quote = this.#quote;
    if (isLast && length - start <= budgets.textBytes) return length;
    if (quote.length === 0) return isLast ? length : lastLineEnd(bytes, start);
    let border = start;
    /** Where the quote stands that is open, -1 when none is; behind the last closing one; what has been looked at already. */
    let open = -1;
    let closed = start;
    let seen = start;
    let inComment = this.#isComment(bytes, start);
    const { positions } = this.#window;
    for (let from = start; from < length; from += this.#window.length) {
      this.#window.open(bytes, from);
      const count = this.#window.search(this.#searched);
      for (let i = 0; i < count; i++) {
        const at = from + positions[i]!;
        if (at < seen) continue;
        const c = bytes[at]!;
        if (c === 10 || c === 13) {
          // Behind a CR as the very last byte a LF may follow.
          if (open >= 0 || (c === 13 && at === length - 1)) continue;
          border = at + 1;
          inComment = this.#isComment(bytes, border);
        } else if (inComment || !matches(bytes, at, quote)) continue;
        else if (open < 0) {
          if (this.#isCellStart(bytes, at, closed, start)) open = at;
          seen = open < 0 ? seen : at + quote.length;
        } else {
          const behind = at + quote.length;
          seen = behind;
          const isWhole = behind + quote.length <= length;
          if (isWhole && matches(bytes, behind, quote)) seen += quote.length;
          else if (isWhole || isLast) {
            if (this.#isTooLong(open, behind)) return tooLong(open);
            open = -1;
            closed = behind;
          }
        }
      }
    }
    if (open >= 0 && this.#isTooLong(open, length)) return tooLong(open);
    return isLast ? length : border;
  }

  #isTooLong(open: number, behind: number): boolean {
    return behind - open > budgets.textBytes + 2 * this.#quote.length;
  }

  #isComment(bytes: Uint8Array, at: number): boolean {
    return this.#comment.length > 0 && matches(bytes, at, this.#comment);
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

/** Behind the last line end from `from` on; a CR as the very last byte is none yet, because a LF may follow. */
function lastLineEnd(bytes: Uint8Array, from: number): number {
  const end = bytes.at(-1) === 13 ? bytes.length - 1 : bytes.length;
  return startOfLine(bytes, end, from);
}

function tooLong(at: number): SplitFault {
  return {
    kind: 'fault',
    at,
    message: `a quote that is opened here is not closed within ${budgets.textBytes} bytes (budget textBytes)`,
  };
}

const encoder = new TextEncoder();
