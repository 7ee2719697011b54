import { budgets } from '../../engine/core/budgets.js';
import type { ScanBuffer } from '../text/scan-buffer.js';
import type { AttributeColumn } from './attribute-column.js';
import type { AttributeKeys } from './attribute-keys.js';
import { unescapeBytes, type Unescaped } from './percent-escapes.js';

/** The result for a line that the fast path cannot handle. */
export const needsGeneralPath = -1;

/** Maximum number of values of a line; more may exceed the budget `recordKeysWarning`, which the general path checks. */
const maxValues = 100;

/**
 * The fast path for the attributes of one line of the scan buffer. Nothing is stored until the whole line is known to be valid.
 * `read` starts at offset `at`, where `position` is the index of the next position found; it returns the index of the position of
 * the line end, `needsGeneralPath`, or `positionCount` when the buffer ends first.
 */
export abstract class FastAttributes {
  /** Whether escapes of the line have been decoded in the window, which changes its bytes. */
  hasDecoded = false;
  /** The bytes to search for, besides tabs and line ends. */
  abstract readonly searched: readonly number[];
  /** Value i of the line is `bytes[from[i]..to[i])`, of the column `columns[i]`; there are `count` values. */
  count = 0;
  readonly columns: AttributeColumn[] = [];
  readonly from = new Int32Array(maxValues);
  readonly to = new Int32Array(maxValues);

  abstract read(
    window: ScanBuffer,
    positionCount: number,
    keys: AttributeKeys,
    at: number,
    position: number,
  ): number;

  /** Adds a value; returns false when it needs the general path. */
  protected add(column: AttributeColumn, from: number, to: number): boolean {
    const i = this.count++;
    if (i >= maxValues || to - from > budgets.stringBytes) return false;
    this.columns[i] = column;
    this.from[i] = from;
    this.to[i] = to;
    return true;
  }
}

/** Attributes of GFF3: `ID=a;Parent=b,c`. Spaces around keys and values, empty values and escaped keys need the general path. */
export class FastGff3Attributes extends FastAttributes {
  readonly searched: readonly number[] = [percent, comma, semicolon, equals];
  readonly #unescaped: Unescaped = { end: 0, isDamaged: false };
  #scratch = new Uint8Array(4096);

  read(
    { bytes, positions }: ScanBuffer,
    positionCount: number,
    keys: AttributeKeys,
    at: number,
    position: number,
  ): number {
    this.count = 0;
    let start = at;
    let next = position;
    for (;;) {
      if (next >= positionCount) return positionCount;
      const keyEnd = positions[next]!;
      if (bytes[keyEnd] !== equals) {
        const isLineEnd = bytes[keyEnd] === 10 || bytes[keyEnd] === 13;
        const isEmpty = keyEnd === start || (bytes[start] === dot && keyEnd === start + 1);
        return isLineEnd && (this.count === 0 ? isEmpty : keyEnd === start)
          ? next
          : needsGeneralPath;
      }
      if (isBare(bytes, start, keyEnd)) return needsGeneralPath;
      const column = keys.find(bytes, start, keyEnd);
      if (column === undefined) return needsGeneralPath;
      start = keyEnd + 1;
      let isEscaped = false;
      for (;;) {
        if (++next >= positionCount) return positionCount;
        const end = positions[next]!;
        const c = bytes[end]!;
        if (c === equals) continue;
        if (c === percent) {
          isEscaped = true;
          continue;
        }
        if (c === tab || isBare(bytes, start, end)) return needsGeneralPath;
        const to = isEscaped ? this.#unescape(bytes, start, end) : end;
        if (to < 0 || !this.add(column, start, to)) return needsGeneralPath;
        isEscaped = false;
        start = end + 1;
        if (c === comma) continue;
        if (c !== semicolon) return next;
        break;
      }
      next++;
    }
  }

  /** Decodes escapes in place; returns the new end of the value, or `needsGeneralPath`. */
  #unescape(bytes: Uint8Array, from: number, to: number): number {
    if (this.#scratch.length < to - from) this.#scratch = new Uint8Array(2 * (to - from));
    unescapeBytes(bytes, from, to, this.#scratch, 0, this.#unescaped);
    const { end, isDamaged } = this.#unescaped;
    if (isDamaged) return needsGeneralPath;
    this.hasDecoded = true;
    bytes.set(this.#scratch.subarray(0, end), from);
    return from + end;
  }
}

/** Attributes of GTF: `gene_id "a"; level 2;`. Keys without value and spaces after a closing quote need the general path. */
export class FastGtfAttributes extends FastAttributes {
  readonly searched: readonly number[] = [quote, semicolon];

  read(
    { bytes, positions }: ScanBuffer,
    positionCount: number,
    keys: AttributeKeys,
    at: number,
    position: number,
  ): number {
    this.count = 0;
    let start = at;
    let next = position;
    for (;;) {
      while (bytes[start] === space) start++;
      if (next >= positionCount) return positionCount;
      const end = positions[next]!;
      const c = bytes[end]!;
      if (start >= end) {
        if (c === 10 || c === 13) return next;
        if (c !== semicolon) return needsGeneralPath;
        start = end + 1;
        next++;
        continue;
      }
      let keyEnd = start;
      while (keyEnd < end && bytes[keyEnd] !== space) keyEnd++;
      if (keyEnd === end)
        return isNothing(bytes, start, end) && this.count === 0 ? next : needsGeneralPath;
      const column = keys.find(bytes, start, keyEnd);
      if (column === undefined) return needsGeneralPath;
      start = keyEnd + 1;
      while (bytes[start] === space) start++;
      if (c === quote) {
        if (start !== end) return needsGeneralPath;
        const closeAt = closingQuote(bytes, positions, positionCount, next + 1);
        if (closeAt < 0 || closeAt >= positionCount) return closeAt;
        if (!this.add(column, start + 1, positions[closeAt]!)) return needsGeneralPath;
        start = positions[closeAt]! + 1;
        next = closeAt + 1;
      } else {
        if (c === tab || start >= end) return needsGeneralPath;
        let to = end;
        while (bytes[to - 1] === space) to--;
        if (!this.add(column, start, to)) return needsGeneralPath;
        start = end;
      }
    }
  }
}

/** The index of the position of the quote that is followed by a semicolon or a line end. */
function closingQuote(
  bytes: Uint8Array,
  positions: Int32Array,
  positionCount: number,
  first: number,
): number {
  for (let next = first; ; next++) {
    if (next + 1 >= positionCount) return positionCount;
    const at = positions[next]!;
    const c = bytes[at];
    if (c === tab || c === 10 || c === 13) return needsGeneralPath;
    if (c !== quote) continue;
    if (bytes[at + 1] === space) return needsGeneralPath;
    const byteBehind = bytes[positions[next + 1]!];
    if (positions[next + 1] === at + 1 && byteBehind !== quote && byteBehind !== tab) return next;
  }
}

/** Whether the text is empty or has a space at either end. */
function isBare(bytes: Uint8Array, from: number, to: number): boolean {
  return from === to || bytes[from] === space || bytes[to - 1] === space;
}

/** Whether the field is `.`, for no attributes. */
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
