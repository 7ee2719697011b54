import { ByteSet, type ScanBuffer, scanBuffer, maxGatheredRanges } from '../text/scan-buffer.js';
import { matchesBytes } from './cell-scanner.js';
import type { CsvFormat } from './csv-params.js';

/**
 * The fast path of the CSV parser: finds runs of rows that fit in the scan buffer, with one cell per column, no long cell, and nothing
 * between a closing quote and the delimiter or line end. The positions of the cells are stored by column, so that each column appends a
 * whole run at once. All other rows are left to `CsvParser`. The delimiter and the quote, if any, must be ASCII.
 */
export class FastRowScanner {
  readonly window: ScanBuffer = scanBuffer();
  /** Maximum number of rows in a run. In the window, the cell of row r and column k is the range with the index `k * maxRows + r`. */
  readonly maxRows: number;
  /** Offset in the text of the first row after the run. */
  nextRowOffset = 0;
  /** The number of lines in the run. */
  lineCount = 0;
  /** Offset in the text of the window, that is, of the part of the text that is in the scan buffer. */
  windowOffset = 0;
  readonly #text: Uint8Array;
  readonly #width: number;
  readonly #maxCellBytes: number;
  readonly #delimiter: number;
  readonly #quote: number;
  readonly #comment: Uint8Array;
  readonly #searchedBytes: ByteSet;
  /**
   * Number of delimiters, quotes and line ends that were found in the window; `#positionIndex` is the index in `positions` of the first one in
   * the next row.
   */
  #positionCount = 0;
  #positionIndex = 0;
  /** The first `#doubledCellCount` elements are the indices of the cells that contain doubled quotes. */
  readonly #cellsWithDoubledQuotes: number[] = [];
  #doubledCellCount = 0;
  /** Whether the window ends within the row after the run. */
  #endsWithinRow = false;

  /** The text must end with a line end. */
  constructor(text: Uint8Array, params: CsvFormat, width: number, maxCellBytes: number) {
    const { delimiter, quote, comment } = params;
    this.#text = text;
    this.#width = width;
    this.#maxCellBytes = maxCellBytes;
    this.#delimiter = delimiter.charCodeAt(0);
    this.#quote = quote === '' ? -1 : quote.charCodeAt(0);
    this.#comment = new TextEncoder().encode(comment);
    this.#searchedBytes = new ByteSet([
      this.#delimiter,
      ...(quote === '' ? [] : [this.#quote]),
      10,
      13,
    ]);
    this.maxRows = Math.floor(maxGatheredRanges / width);
    this.window.textLength = 0;
  }

  /** Returns whether the fast path supports the parameters and the number of columns. */
  static supportsFormat({ delimiter, quote }: CsvFormat, width: number): boolean {
    return width > 0 && width <= maxGatheredRanges && delimiter <= '\x7f' && quote <= '\x7f';
  }

  /** Finds a run of at most `maxRows` rows that begins at `at`; returns the number of rows. */
  findRecordRun(at: number, maxRows: number): number {
    const windowEnd = this.windowOffset + this.window.textLength;
    if (at < this.windowOffset || at >= windowEnd || this.window.textLength === 0)
      this.#loadWindow(at);
    let rowCount = this.#findRunInWindow(at, Math.min(maxRows, this.maxRows));
    // The row does not end in this window, but may end in a window that begins with it.
    if (rowCount === 0 && this.#endsWithinRow && at > this.windowOffset) {
      this.#loadWindow(at);
      rowCount = this.#findRunInWindow(at, Math.min(maxRows, this.maxRows));
    }
    return rowCount;
  }

  /** Unescapes doubled quotes in the window's copy of the text. Afterwards, the same rows cannot be found again. */
  unescapeDoubledQuotes(): void {
    const { bytes, rangeStarts, rangeEnds } = this.window;
    for (let i = 0; i < this.#doubledCellCount; i++) {
      const cellIndex = this.#cellsWithDoubledQuotes[i]!;
      rangeEnds[cellIndex] = unescapeCell(
        bytes,
        rangeStarts[cellIndex]!,
        rangeEnds[cellIndex]!,
        this.#quote,
      );
    }
  }

  #loadWindow(at: number): void {
    this.windowOffset = at;
    this.window.loadText(this.#text, at);
    this.#positionCount = this.window.search(this.#searchedBytes);
    this.#positionIndex = 0;
  }

  #findRunInWindow(at: number, maxRows: number): number {
    const { bytes, positions, textLength, rangeStarts: from, rangeEnds: to } = this.window;
    const stride = this.maxRows;
    const positionCount = this.#positionCount;
    const width = this.#width;
    const [delimiter, quote, maxCellBytes] = [this.#delimiter, this.#quote, this.#maxCellBytes];
    const hasComment = this.#comment.length > 0;
    const isLastWindow = this.windowOffset + textLength === this.#text.length;
    let rowStart = at - this.windowOffset;
    let positionIndex =
      at === this.nextRowOffset
        ? this.#positionIndex
        : firstIndexFrom(positions, positionCount, rowStart);
    let rows = 0;
    let lines = 0;
    let doubledCellCount = 0;
    this.#endsWithinRow = false;
    this.#doubledCellCount = 0;
    search: while (rows < maxRows && rowStart < textLength) {
      if (bytes[rowStart] === 10 || bytes[rowStart] === 13) break;
      if (hasComment && matchesBytes(this.#text, this.windowOffset + rowStart, this.#comment))
        break;
      let nextIndex = positionIndex;
      let cellStart = rowStart;
      let rowLines = 1;
      for (let cellIndex = rows; ; cellIndex += stride) {
        let start = cellStart;
        let end: number;
        if (bytes[cellStart] === quote) {
          let isDoubled = false;
          for (nextIndex++; ; nextIndex++) {
            end = positions[nextIndex]!;
            // The byte after a quote decides whether the quote closes the cell.
            if (nextIndex >= positionCount || end + 1 >= textLength) {
              this.#endsWithinRow = true;
              break search;
            }
            const c = bytes[end]!;
            if (c === quote) {
              if (bytes[end + 1] !== quote) break;
              isDoubled = true;
              nextIndex++;
            } else if (c === 10 || (c === 13 && bytes[end + 1] !== 10)) rowLines++;
          }
          nextIndex++;
          start++;
          cellStart = end + 1;
          if (nextIndex < positionCount && positions[nextIndex] !== cellStart) break search;
          if (isDoubled) this.#cellsWithDoubledQuotes[doubledCellCount++] = cellIndex;
        } else {
          while (nextIndex < positionCount && bytes[positions[nextIndex]!] === quote) nextIndex++;
          end = cellStart = positions[nextIndex]!;
        }
        if (nextIndex >= positionCount) {
          this.#endsWithinRow = true;
          break search;
        }
        nextIndex++;
        if (end - start > maxCellBytes) break search;
        from[cellIndex] = start;
        to[cellIndex] = end;
        const isLastCell = cellIndex + stride >= width * stride;
        if (bytes[cellStart] === delimiter) {
          if (isLastCell) break search;
          cellStart++;
          continue;
        }
        if (!isLastCell) break search;
        if (bytes[cellStart] === 13) {
          if (cellStart + 1 === textLength && !isLastWindow) {
            this.#endsWithinRow = true;
            break search;
          }
          if (cellStart + 1 < textLength && bytes[cellStart + 1] === 10) {
            cellStart++;
            nextIndex++;
          }
        }
        break;
      }
      rowStart = cellStart + 1;
      positionIndex = nextIndex;
      lines += rowLines;
      this.#doubledCellCount = doubledCellCount;
      rows++;
    }
    this.#positionIndex = positionIndex;
    this.nextRowOffset = this.windowOffset + rowStart;
    this.lineCount = lines;
    return rows;
  }
}

/** Returns the index of the first of `count` ascending positions that is at least `at`. */
function firstIndexFrom(positions: Int32Array, count: number, at: number): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (positions[middle]! < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Unescapes doubled quotes of a cell in place; returns its new end. */
function unescapeCell(bytes: Uint8Array, from: number, to: number, quote: number): number {
  let end = from;
  for (let at = from; at < to; at++) {
    bytes[end++] = bytes[at]!;
    if (bytes[at] === quote) at++;
  }
  return end;
}
