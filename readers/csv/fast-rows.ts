import { ByteSet, type TextWindow, textWindow, windowCells } from '../text/scan-buffer.js';
import { matches } from './cell-scanner.js';
import type { CsvParams } from './params.js';

/**
 * Finds runs of rows that need no second look: as many cells as there are columns, none too long, nothing between a closing
 * quote and the delimiter. Their cells' places are noted by column, so that each column can take its cells in one go; all
 * other lines are left to `CsvParser`. The delimiter must be one byte.
 */
export class PlainRows {
  readonly window: TextWindow = textWindow();
  /** Cell r of column k is `window.bytes[window.from[k * most + r]..window.to[k * most + r])`. */
  readonly most: number;
  /** Where the row behind the last one found begins in the text. */
  next = 0;
  /** Lines of the rows found. */
  lines = 0;
  /** Where the window begins in the text. */
  base = 0;
  readonly #text: Uint8Array;
  readonly #width: number;
  readonly #maxCell: number;
  readonly #delimiter: number;
  readonly #quote: number;
  readonly #comment: Uint8Array;
  readonly #searched: ByteSet;
  /** How many marks the window has, and the first of the row to be found next. */
  #marks = 0;
  #mark = 0;
  /** Places of cells with doubled quotes, `#doubled` of them. */
  readonly #doubledCells: number[] = [];
  #doubled = 0;
  /** The window ended within a row. */
  #isCut = false;

  /** `text` ends with a line end. */
  constructor(text: Uint8Array, params: CsvParams, width: number, maxCell: number) {
    const { delimiter, quote, comment } = params;
    this.#text = text;
    this.#width = width;
    this.#maxCell = maxCell;
    this.#delimiter = delimiter.charCodeAt(0);
    this.#quote = quote === '' ? -1 : quote.charCodeAt(0);
    this.#comment = new TextEncoder().encode(comment);
    this.#searched = new ByteSet([this.#delimiter, ...(quote === '' ? [] : [this.#quote]), 10, 13]);
    this.most = Math.floor(windowCells / width);
    this.window.length = 0;
  }

  /** Whether rows can be found at all. */
  static fits({ delimiter, quote }: CsvParams, width: number): boolean {
    return width > 0 && width <= windowCells && delimiter <= '\x7f' && quote <= '\x7f';
  }

  /** Finds up to `most` rows from `at` on, where one begins; returns how many. */
  find(at: number, most: number): number {
    const last = this.base + this.window.length;
    if (at < this.base || at >= last || this.window.length === 0) this.#open(at);
    let found = this.#findHere(at, Math.min(most, this.most));
    // The window ends within the row: it may be whole in another one.
    if (found === 0 && this.#isCut && at > this.base) {
      this.#open(at);
      found = this.#findHere(at, Math.min(most, this.most));
    }
    return found;
  }

  /** Makes doubled quotes single ones, in the window's copy of the text; the rows cannot be found again then. */
  settle(): void {
    const { bytes, from, to } = this.window;
    for (let i = 0; i < this.#doubled; i++) {
      const cell = this.#doubledCells[i]!;
      to[cell] = withoutDoubled(bytes, from[cell]!, to[cell]!, this.#quote);
    }
  }

  #open(at: number): void {
    this.base = at;
    this.window.open(this.#text, at);
    this.#marks = this.window.search(this.#searched);
    this.#mark = 0;
  }

  #findHere(at: number, most: number): number {
    const { bytes, marks, length, from, to } = this.window;
    const stride = this.most;
    const count = this.#marks;
    const width = this.#width;
    const [delimiter, quote, maxCell] = [this.#delimiter, this.#quote, this.#maxCell];
    const hasComment = this.#comment.length > 0;
    const isLast = this.base + length === this.#text.length;
    let rowStart = at - this.base;
    let mark = at === this.next ? this.#mark : firstFrom(marks, count, rowStart);
    let rows = 0;
    let lines = 0;
    let doubled = 0;
    this.#isCut = false;
    this.#doubled = 0;
    search: while (rows < most && rowStart < length) {
      if (bytes[rowStart] === 10 || bytes[rowStart] === 13) break;
      if (hasComment && matches(this.#text, this.base + rowStart, this.#comment)) break;
      let next = mark;
      let cellStart = rowStart;
      let rowLines = 1;
      for (let cell = rows; ; cell += stride) {
        let start = cellStart;
        let end: number;
        if (bytes[cellStart] === quote) {
          let isDoubled = false;
          for (next++; ; next++) {
            end = marks[next]!;
            // What follows a quote tells whether it closes the cell.
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
          if (next < count && marks[next] !== cellStart) break search;
          if (isDoubled) this.#doubledCells[doubled++] = cell;
        } else {
          while (next < count && bytes[marks[next]!] === quote) next++;
          end = cellStart = marks[next]!;
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
      mark = next;
      lines += rowLines;
      this.#doubled = doubled;
      rows++;
    }
    this.#mark = mark;
    this.next = this.base + rowStart;
    this.lines = lines;
    return rows;
  }
}

/** The first of `count` ascending marks that is no less than `at`. */
function firstFrom(marks: Int32Array, count: number, at: number): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (marks[middle]! < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Moves the bytes together; returns the end of the shorter cell. */
function withoutDoubled(bytes: Uint8Array, from: number, to: number, quote: number): number {
  let end = from;
  for (let at = from; at < to; at++) {
    bytes[end++] = bytes[at]!;
    if (bytes[at] === quote) at++;
  }
  return end;
}
