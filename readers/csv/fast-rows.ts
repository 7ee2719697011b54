import { ByteSet, type ScanBuffer, scanBuffer, scanCells } from '../text/scan-buffer.js';
import { matchesBytes } from './cell-scanner.js';
import type { CsvFormat } from './csv-params.js';

/**
 * The fast path: finds runs of rows with one cell per column, no long cell, and nothing between a closing quote and the
 * delimiter. The positions of their cells are stored by column, so that each column appends a whole run at once. All other lines
 * are left to `CsvParser`. The delimiter must be one byte.
 */
export class FastRows {
  readonly window: ScanBuffer = scanBuffer();
  /** Maximum number of rows of a run. Cell r of column k is `bytes[from[k * maxRows + r]..to[k * maxRows + r])` of the window. */
  readonly maxRows: number;
  /** Offset in the text of the row after the run. */
  next = 0;
  /** The number of lines of the run. */
  lines = 0;
  /** Offset of the window in the text. */
  base = 0;
  readonly #text: Uint8Array;
  readonly #width: number;
  readonly #maxCell: number;
  readonly #delimiter: number;
  readonly #quote: number;
  readonly #comment: Uint8Array;
  readonly #searched: ByteSet;
  /** Number of positions in the window, and the index of the first position of the next row. */
  #positionCount = 0;
  #position = 0;
  /** The first `#doubled` elements are the indices of the cells with doubled quotes. */
  readonly #doubledCells: number[] = [];
  #doubled = 0;
  /** Whether the window ends within a row. */
  #isCut = false;

  /** `text` must end with a line end. */
  constructor(text: Uint8Array, params: CsvFormat, width: number, maxCell: number) {
    const { delimiter, quote, comment } = params;
    this.#text = text;
    this.#width = width;
    this.#maxCell = maxCell;
    this.#delimiter = delimiter.charCodeAt(0);
    this.#quote = quote === '' ? -1 : quote.charCodeAt(0);
    this.#comment = new TextEncoder().encode(comment);
    this.#searched = new ByteSet([this.#delimiter, ...(quote === '' ? [] : [this.#quote]), 10, 13]);
    this.maxRows = Math.floor(scanCells / width);
    this.window.length = 0;
  }

  /** Whether the fast path supports the parameters and the number of columns. */
  static fits({ delimiter, quote }: CsvFormat, width: number): boolean {
    return width > 0 && width <= scanCells && delimiter <= '\x7f' && quote <= '\x7f';
  }

  /** Finds a run of up to `maxRows` rows from the row at `at` on; returns the number of rows. */
  find(at: number, maxRows: number): number {
    const last = this.base + this.window.length;
    if (at < this.base || at >= last || this.window.length === 0) this.#open(at);
    let found = this.#findHere(at, Math.min(maxRows, this.maxRows));
    // The row does not end in this window; a window that starts with it may hold it.
    if (found === 0 && this.#isCut && at > this.base) {
      this.#open(at);
      found = this.#findHere(at, Math.min(maxRows, this.maxRows));
    }
    return found;
  }

  /** Unescapes doubled quotes in the window's copy of the text; the same rows cannot be found again afterwards. */
  unescape(): void {
    const { bytes, from, to } = this.window;
    for (let i = 0; i < this.#doubled; i++) {
      const cell = this.#doubledCells[i]!;
      to[cell] = withoutDoubled(bytes, from[cell]!, to[cell]!, this.#quote);
    }
  }

  #open(at: number): void {
    this.base = at;
    this.window.open(this.#text, at);
    this.#positionCount = this.window.search(this.#searched);
    this.#position = 0;
  }

  #findHere(at: number, maxRows: number): number {
    const { bytes, positions, length, from, to } = this.window;
    const stride = this.maxRows;
    const count = this.#positionCount;
    const width = this.#width;
    const [delimiter, quote, maxCell] = [this.#delimiter, this.#quote, this.#maxCell];
    const hasComment = this.#comment.length > 0;
    const isLast = this.base + length === this.#text.length;
    let rowStart = at - this.base;
    let position = at === this.next ? this.#position : firstFrom(positions, count, rowStart);
    let rows = 0;
    let lines = 0;
    let doubledQuotes = 0;
    this.#isCut = false;
    this.#doubled = 0;
    search: while (rows < maxRows && rowStart < length) {
      if (bytes[rowStart] === 10 || bytes[rowStart] === 13) break;
      if (hasComment && matchesBytes(this.#text, this.base + rowStart, this.#comment)) break;
      let next = position;
      let cellStart = rowStart;
      let rowLines = 1;
      for (let cell = rows; ; cell += stride) {
        let start = cellStart;
        let end: number;
        if (bytes[cellStart] === quote) {
          let isDoubled = false;
          for (next++; ; next++) {
            end = positions[next]!;
            // The byte after a quote decides whether it closes the cell.
            if (next >= count || end + 1 >= length) {
              this.#isCut = true;
              break search;
            }
            const c = bytes[end]!;
            if (c === quote) {
              if (bytes[end + 1] !== quote) break;
              isDoubled = true;
              next++;
            } else if (c === 10 || (c === 13 && bytes[end + 1] !== 10)) rowLines++;
          }
          next++;
          start++;
          cellStart = end + 1;
          if (next < count && positions[next] !== cellStart) break search;
          if (isDoubled) this.#doubledCells[doubledQuotes++] = cell;
        } else {
          while (next < count && bytes[positions[next]!] === quote) next++;
          end = cellStart = positions[next]!;
        }
        if (next >= count) {
          this.#isCut = true;
          break search;
        }
        next++;
        if (end - start > maxCell) break search;
        from[cell] = start;
        to[cell] = end;
        const isLastCell = cell + stride >= width * stride;
        if (bytes[cellStart] === delimiter) {
          if (isLastCell) break search;
          cellStart++;
          continue;
        }
        if (!isLastCell) break search;
        if (bytes[cellStart] === 13) {
          if (cellStart + 1 === length && !isLast) {
            this.#isCut = true;
            break search;
          }
          if (cellStart + 1 < length && bytes[cellStart + 1] === 10) {
            cellStart++;
            next++;
          }
        }
        break;
      }
      rowStart = cellStart + 1;
      position = next;
      lines += rowLines;
      this.#doubled = doubledQuotes;
      rows++;
    }
    this.#position = position;
    this.next = this.base + rowStart;
    this.lines = lines;
    return rows;
  }
}

/** The index of the first of `count` ascending positions that is at least `at`. */
function firstFrom(positions: Int32Array, count: number, at: number): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (positions[middle]! < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Unescapes a cell in place; returns its new end. */
function withoutDoubled(bytes: Uint8Array, from: number, to: number, quote: number): number {
  let end = from;
  for (let at = from; at < to; at++) {
    bytes[end++] = bytes[at]!;
    if (bytes[at] === quote) at++;
  }
  return end;
}
