import { budgets } from '../../engine/core/budgets.js';
import type { ScanBuffer } from '../text/scan-buffer.js';
import type { AttributeColumn } from './attribute-column.js';
import type { AttributeColumnsByKey } from './attribute-keys.js';
import { unescapeBytes, type UnescapeResult } from './percent-escapes.js';

/** The result of `read` for a line that the fast path cannot handle. */
export const needsGeneralPath = -1;

/** Maximum number of values of a line; with more, the budget `recordKeysWarning` may be exceeded, which the general path checks. */
const maxValuesPerLine = 100;
/** Maximum number of values of a run of lines. */
const maxRunValues = 16 << 10;

/**
 * The fast path for the attributes of the lines in the scan buffer. It collects the ranges of the values of a run of lines, and copies the
 * values column by column at the end of the run. Nothing of a line is kept until the whole line is known to be valid.
 */
export abstract class FastAttributeParser {
  /** Whether escapes of the line have been decoded in place, so that the bytes of the window have changed. */
  hasDecodedEscapes = false;
  /** The bytes to search for, in addition to tabs and line ends. */
  abstract readonly delimiters: readonly number[];
  /** The number of values of the line that `read` has read. */
  valueCount = 0;
  /** The number of values of the kept lines. The values of the line that is being read follow them. */
  #runValueCount = 0;
  /** Value i is `bytes[starts[i]..ends[i])` and belongs to the column `columns[i]` and the row `rows[i]`. */
  readonly #columns: AttributeColumn[] = [];
  readonly #starts = new Int32Array(maxRunValues);
  readonly #ends = new Int32Array(maxRunValues);
  readonly #rows = new Int32Array(maxRunValues);
  /** The rows of the values of the run, sorted by column. */
  readonly #sortedRows = new Int32Array(maxRunValues);

  /**
   * Reads the attributes that begin at offset `at`; `startIndex` is the index of the first of the window's positions that is not before it.
   * Returns the index of the position of the line end, `needsGeneralPath`, or `positionCount` if the buffer ends before the line does.
   */
  abstract read(
    window: ScanBuffer,
    positionCount: number,
    columnsByKey: AttributeColumnsByKey,
    at: number,
    startIndex: number,
  ): number;

  /** Whether the run has no room for the values of another line. */
  get isRunFull(): boolean {
    return this.#runValueCount + maxValuesPerLine > maxRunValues;
  }

  /** Keeps the values of the line that `read` has read as those of a row. */
  keepLine(row: number): void {
    for (
      let end = this.#runValueCount + this.valueCount;
      this.#runValueCount < end;
      this.#runValueCount++
    )
      this.#rows[this.#runValueCount] = row;
  }

  /** Appends the values of the run to their columns, and begins the next run. */
  appendRun(window: ScanBuffer): void {
    const { rangeStarts, rangeEnds, gatheredBytes, gatheredEnds } = window;
    const columns = this.#columns;
    const usedColumns: AttributeColumn[] = [];
    for (let i = 0; i < this.#runValueCount; i++)
      if (columns[i]!.runCount++ === 0) usedColumns.push(columns[i]!);
    let nextIndex = 0;
    for (const column of usedColumns) {
      column.runEnd = nextIndex;
      nextIndex += column.runCount;
    }
    for (let i = 0; i < this.#runValueCount; i++) {
      const at = columns[i]!.runEnd++;
      rangeStarts[at] = this.#starts[i]!;
      rangeEnds[at] = this.#ends[i]!;
      this.#sortedRows[at] = this.#rows[i]!;
    }
    for (const column of usedColumns) {
      const firstIndex = column.runEnd - column.runCount;
      const size = window.gather(firstIndex, column.runCount);
      const rows = this.#sortedRows.subarray(firstIndex, column.runEnd);
      column.appendRun(rows, gatheredBytes, size, gatheredEnds);
      column.runCount = 0;
    }
    this.#runValueCount = 0;
  }

  /** Adds a value; returns false if the value needs the general path. */
  protected addValue(column: AttributeColumn, from: number, to: number): boolean {
    if (this.valueCount >= maxValuesPerLine || to - from > budgets.stringBytes) return false;
    const i = this.#runValueCount + this.valueCount++;
    this.#columns[i] = column;
    this.#starts[i] = from;
    this.#ends[i] = to;
    return true;
  }
}

/**
 * Reads attributes of GFF3: `ID=a;Parent=b,c`. Unusual ones need the general path, such as keys that are new in the chunk, keys without
 * `=`, spaces around keys and values, empty values, and escaped keys.
 */
export class FastGff3Attributes extends FastAttributeParser {
  readonly delimiters: readonly number[] = [percent, comma, semicolon, equalsByte];
  readonly #unescapeResult: UnescapeResult = { end: 0, isDamaged: false };

  read(
    { bytes, positions }: ScanBuffer,
    positionCount: number,
    columnsByKey: AttributeColumnsByKey,
    at: number,
    startIndex: number,
  ): number {
    this.valueCount = 0;
    let start = at;
    let index = startIndex;
    for (;;) {
      if (index >= positionCount) return positionCount;
      const keyEnd = positions[index]!;
      if (bytes[keyEnd] !== equalsByte) {
        const isLineEnd = bytes[keyEnd] === 10 || bytes[keyEnd] === 13;
        const isEmpty = keyEnd === start || (bytes[start] === dot && keyEnd === start + 1);
        return isLineEnd && (this.valueCount === 0 ? isEmpty : keyEnd === start)
          ? index
          : needsGeneralPath;
      }
      if (isEmptyOrPadded(bytes, start, keyEnd)) return needsGeneralPath;
      const column = columnsByKey.find(bytes, start, keyEnd);
      if (column === undefined) return needsGeneralPath;
      start = keyEnd + 1;
      /** The position of the first percent sign of the value; -1 if there is none. */
      let escapeAt = -1;
      for (;;) {
        if (++index >= positionCount) return positionCount;
        const end = positions[index]!;
        const c = bytes[end]!;
        if (c === equalsByte) continue;
        if (c === percent) {
          if (escapeAt < 0) escapeAt = end;
          continue;
        }
        if (c === tab || isEmptyOrPadded(bytes, start, end)) return needsGeneralPath;
        const to = escapeAt < 0 ? end : this.#unescape(bytes, escapeAt, end);
        if (to < 0 || !this.addValue(column, start, to)) return needsGeneralPath;
        escapeAt = -1;
        start = end + 1;
        if (c === comma) continue;
        if (c !== semicolon) return index;
        break;
      }
      index++;
    }
  }

  /** Decodes the percent escapes of a value from the first one on, in place; returns the new end of the value, or `needsGeneralPath`. */
  #unescape(bytes: Uint8Array, from: number, to: number): number {
    this.hasDecodedEscapes = true;
    unescapeBytes(bytes, from, to, bytes, from, this.#unescapeResult);
    return this.#unescapeResult.isDamaged ? needsGeneralPath : this.#unescapeResult.end;
  }
}

/**
 * Reads attributes of GTF: `gene_id "a"; level 2;`. Unusual ones need the general path, such as keys that are new in the chunk, keys
 * without a value, and spaces after a closing quote.
 */
export class FastGtfAttributes extends FastAttributeParser {
  readonly delimiters: readonly number[] = [quote, semicolon];

  read(
    { bytes, positions }: ScanBuffer,
    positionCount: number,
    columnsByKey: AttributeColumnsByKey,
    at: number,
    startIndex: number,
  ): number {
    this.valueCount = 0;
    let start = at;
    let index = startIndex;
    for (;;) {
      while (bytes[start] === space) start++;
      if (index >= positionCount) return positionCount;
      const end = positions[index]!;
      const c = bytes[end]!;
      if (start >= end) {
        if (c === 10 || c === 13) return index;
        if (c !== semicolon) return needsGeneralPath;
        start = end + 1;
        index++;
        continue;
      }
      let keyEnd = start;
      while (keyEnd < end && bytes[keyEnd] !== space) keyEnd++;
      if (keyEnd === end)
        return isMissingField(bytes, start, end) && this.valueCount === 0
          ? index
          : needsGeneralPath;
      const column = columnsByKey.find(bytes, start, keyEnd);
      if (column === undefined) return needsGeneralPath;
      start = keyEnd + 1;
      while (bytes[start] === space) start++;
      if (c === quote) {
        if (start !== end) return needsGeneralPath;
        const closeIndex = findClosingQuoteIndex(bytes, positions, positionCount, index + 1);
        if (closeIndex < 0 || closeIndex >= positionCount) return closeIndex;
        if (!this.addValue(column, start + 1, positions[closeIndex]!)) return needsGeneralPath;
        start = positions[closeIndex]! + 1;
        index = closeIndex + 1;
      } else {
        if (c === tab || start >= end) return needsGeneralPath;
        let to = end;
        while (bytes[to - 1] === space) to--;
        if (!this.addValue(column, start, to)) return needsGeneralPath;
        start = end;
      }
    }
  }
}

/**
 * Returns the index, from `firstIndex` on, of the position of the quote that is followed by a semicolon or a line end. Returns
 * `needsGeneralPath` if the column ends before it or if a space follows a quote, and `positionCount` if the buffer ends first.
 */
function findClosingQuoteIndex(
  bytes: Uint8Array,
  positions: Int32Array,
  positionCount: number,
  firstIndex: number,
): number {
  for (let index = firstIndex; ; index++) {
    if (index + 1 >= positionCount) return positionCount;
    const at = positions[index]!;
    const c = bytes[at];
    if (c === tab || c === 10 || c === 13) return needsGeneralPath;
    if (c !== quote) continue;
    if (bytes[at + 1] === space) return needsGeneralPath;
    const nextDelimiter = bytes[positions[index + 1]!];
    if (positions[index + 1] === at + 1 && nextDelimiter !== quote && nextDelimiter !== tab)
      return index;
  }
}

/** Returns whether the text is empty or has a space at either end. */
function isEmptyOrPadded(bytes: Uint8Array, from: number, to: number): boolean {
  return from === to || bytes[from] === space || bytes[to - 1] === space;
}

/** Returns whether the field is `.`, which means that there are no attributes. */
function isMissingField(bytes: Uint8Array, from: number, to: number): boolean {
  return to === from + 1 && bytes[from] === dot && (bytes[to] === 10 || bytes[to] === 13);
}

const tab = 9;
const space = 32;
const quote = 34;
const percent = 37;
const comma = 44;
const dot = 46;
const semicolon = 59;
const equalsByte = 61;
