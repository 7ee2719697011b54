import { budgets } from '../../engine/core/budgets.js';
import type { TextWindow } from '../text/scan-buffer.js';
import type { AttributeColumn } from './attribute-column.js';
import type { AttributeKeys } from './attribute-keys.js';
import { unescape, type Unescaped } from './percent-escapes.js';

/** The line has something that has to be looked at more closely. */
export const odd = -1;

/** Values of one line; with more, the record may have too many columns (budget `recordKeysWarning`). */
const mostValues = 100;

/**
 * The attributes of one line of a window, of which nothing is stored before the whole line is known to be plain. `read` begins
 * at `at`, where the first mark behind is `mark`; it returns the mark of the line's end, `odd`, or `marks` when the window ends
 * first.
 */
export abstract class PlainAttributes {
  /** Escapes of the line were resolved in the window. */
  hasResolved = false;
  /** The bytes to be searched for, besides tabs and line ends. */
  abstract readonly searched: readonly number[];
  /** Value i of the line is `bytes[from[i]..to[i])` and belongs to `columns[i]`. */
  count = 0;
  readonly columns: AttributeColumn[] = [];
  readonly from = new Int32Array(mostValues);
  readonly to = new Int32Array(mostValues);

  abstract read(
    window: TextWindow,
    marks: number,
    keys: AttributeKeys,
    at: number,
    mark: number,
  ): number;

  /** Whether there was room for the value. */
  protected add(column: AttributeColumn, from: number, to: number): boolean {
    const i = this.count++;
    if (i >= mostValues || to - from > budgets.stringBytes) return false;
    this.columns[i] = column;
    this.from[i] = from;
    this.to[i] = to;
    return true;
  }
}

/** `ID=a;Parent=b,c`; spaces around keys and values, empty ones and keys with escapes are odd. */
export class PlainGff3Attributes extends PlainAttributes {
  readonly searched: readonly number[] = [percent, comma, semicolon, equals];
  readonly #unescaped: Unescaped = { end: 0, isDamaged: false };
  #scratch = new Uint8Array(4096);

  read(
    { bytes, marks: places }: TextWindow,
    marks: number,
    keys: AttributeKeys,
    at: number,
    mark: number,
  ): number {
    this.count = 0;
    let start = at;
    let next = mark;
    for (;;) {
      if (next >= marks) return marks;
      const keyEnd = places[next]!;
      if (bytes[keyEnd] !== equals) {
        const isLineEnd = bytes[keyEnd] === 10 || bytes[keyEnd] === 13;
        const isEmpty = keyEnd === start || (bytes[start] === dot && keyEnd === start + 1);
        return isLineEnd && (this.count === 0 ? isEmpty : keyEnd === start) ? next : odd;
      }
      if (isBare(bytes, start, keyEnd)) return odd;
      const column = keys.find(bytes, start, keyEnd);
      if (column === undefined) return odd;
      start = keyEnd + 1;
      let isEscaped = false;
      for (;;) {
        if (++next >= marks) return marks;
        const end = places[next]!;
        const c = bytes[end]!;
        if (c === equals) continue;
        if (c === percent) {
          isEscaped = true;
          continue;
        }
        if (c === tab || isBare(bytes, start, end)) return odd;
        const to = isEscaped ? this.#unescape(bytes, start, end) : end;
        if (to < 0 || !this.add(column, start, to)) return odd;
        isEscaped = false;
        start = end + 1;
        if (c === comma) continue;
        if (c !== semicolon) return next;
        break;
      }
      next++;
    }
  }

  /** In place: a line that is left after that is not read again in this window. Returns the new end, or `odd`. */
  #unescape(bytes: Uint8Array, from: number, to: number): number {
    if (this.#scratch.length < to - from) this.#scratch = new Uint8Array(2 * (to - from));
    unescape(bytes, from, to, this.#scratch, 0, this.#unescaped);
    const { end, isDamaged } = this.#unescaped;
    if (isDamaged) return odd;
    this.hasResolved = true;
    bytes.set(this.#scratch.subarray(0, end), from);
    return from + end;
  }
}

/** `gene_id "a"; level 2;`; keys without a value and spaces behind a closing quote are odd. */
export class PlainGtfAttributes extends PlainAttributes {
  readonly searched: readonly number[] = [quote, semicolon];

  read(
    { bytes, marks: places }: TextWindow,
    marks: number,
    keys: AttributeKeys,
    at: number,
    mark: number,
  ): number {
    this.count = 0;
    let start = at;
    let next = mark;
    for (;;) {
      while (bytes[start] === space) start++;
      if (next >= marks) return marks;
      const end = places[next]!;
      const c = bytes[end]!;
      if (start >= end) {
        if (c === 10 || c === 13) return next;
        if (c !== semicolon) return odd;
        start = end + 1;
        next++;
        continue;
      }
      let keyEnd = start;
      while (keyEnd < end && bytes[keyEnd] !== space) keyEnd++;
      if (keyEnd === end) return isNothing(bytes, start, end) && this.count === 0 ? next : odd;
      const column = keys.find(bytes, start, keyEnd);
      if (column === undefined) return odd;
      start = keyEnd + 1;
      while (bytes[start] === space) start++;
      if (c === quote) {
        if (start !== end) return odd;
        const close = closingQuote(bytes, places, marks, next + 1);
        if (close < 0 || close >= marks) return close;
        if (!this.add(column, start + 1, places[close]!)) return odd;
        start = places[close]! + 1;
        next = close + 1;
      } else {
        if (c === tab || start >= end) return odd;
        let to = end;
        while (bytes[to - 1] === space) to--;
        if (!this.add(column, start, to)) return odd;
        start = end;
      }
    }
  }
}

/** The mark of the quote with a semicolon or a line end right behind it. */
function closingQuote(bytes: Uint8Array, places: Int32Array, marks: number, first: number): number {
  for (let next = first; ; next++) {
    if (next + 1 >= marks) return marks;
    const at = places[next]!;
    const c = bytes[at];
    if (c === tab || c === 10 || c === 13) return odd;
    if (c !== quote) continue;
    if (bytes[at + 1] === space) return odd;
    const behind = bytes[places[next + 1]!];
    if (places[next + 1] === at + 1 && behind !== quote && behind !== tab) return next;
  }
}

/** Nothing, or with a space at one of its ends. */
function isBare(bytes: Uint8Array, from: number, to: number): boolean {
  return from === to || bytes[from] === space || bytes[to - 1] === space;
}

/** The `.` that stands for no attributes. */
function isNothing(bytes: Uint8Array, from: number, to: number): boolean {
  return to === from + 1 && bytes[from] === dot && (bytes[to] === 10 || bytes[to] === 13);
}

const tab = 9;
const space = 32;
const quote = 34;
const percent = 37;
const comma = 44;
const dot = 46;
const semicolon = 59;
const equals = 61;
