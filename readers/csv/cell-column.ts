import type { Data } from 'apache-arrow';
import { ColumnBuilder } from '../../engine/ingest/column-builder.js';
import { DoubleBuilder } from '../../engine/ingest/fixed-width-builders.js';
import { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import { acquireBuffer, growBuffer, releaseBuffer } from '../../engine/core/buffers.js';
import type { Column, StoredType } from '../../engine/core/types.js';
import { parseFloatBytes } from '../text/parse-numbers.js';
import { codes } from '../../engine/ingest/validation-codes.js';
import type { Report } from '../reader.js';
import { nullStoredWarning, NonNumberKind } from './null-texts.js';

/** The properties of a column of cells; with `isText`, all cells are text. */
interface CellColumnOptions {
  readonly name: string;
  readonly physical: string;
  readonly isText: boolean;
  readonly isList: boolean;
}

/**
 * A column whose type is inferred from its cells, apart from those that are empty, stand for null, or are NaN or infinite: double if all
 * are numbers, or long if all are 64-bit integers and doubles cannot hold some of them; string or text, with the text of the cells, if one
 * is no number or the header has found text. If there are no other cells, the type is open unless the header has found text.
 */
export class CellColumn extends ColumnBuilder {
  readonly name: string;
  /**
   * Whether the column holds text, according to the header or because of a cell. Cells of rejected rows count, too, so that the type does
   * not depend on how the file is split.
   */
  isText: boolean;
  /**
   * Whether all numbers are 64-bit integers, and those from 2^53 on are written as digits with at most a minus sign; set by
   * `detectLongColumn`.
   */
  areAllIntegers = false;
  /** Whether doubles hold all integers of a column of integers exactly; `detectLongColumn` finds out. */
  isExactInDoubles = true;
  /** Whether a cell is longer than a string may be. */
  hasLongText = false;
  /** Whether the cells are to be stored as lists of one element, in a second pass. */
  readonly isList: boolean;
  /**
   * The start of each number's cell, by row. The texts of these cells are read again if the column becomes text, or to decide whether it
   * becomes a long.
   */
  #cellStarts: Int32Array | null = null;
  readonly #physical: string;
  /**
   * The rows whose cells stand for null if the column holds numbers, in ascending order; `#missingStarts` has the starts of these cells.
   */
  #missingRows: Int32Array | null = null;
  #missingStarts: Int32Array | null = null;
  missingCount = 0;
  /** The numbers of NaN and of infinite cells, and the line of the first of each. */
  readonly #nonFiniteCounts = { nans: 0, nanLine: 0, infinities: 0, infinityLine: 0 };
  // The builders are created on first use, because a file may have thousands of columns.
  #numbers: DoubleBuilder | null = null;
  #strings: Utf8Builder | null = null;

  constructor({ name, physical, isText, isList }: CellColumnOptions) {
    super();
    this.name = name;
    this.isText = isText;
    this.isList = isList;
    this.#physical = physical;
  }

  get numbers(): DoubleBuilder {
    return (this.#numbers ??= new DoubleBuilder(this.#columnOfType('double')));
  }

  get strings(): Utf8Builder {
    return (this.#strings ??= new Utf8Builder(this.#columnOfType('string')));
  }

  get hasNumbers(): boolean {
    const numbers = this.#numbers;
    return numbers !== null && numbers.length > numbers.nullCount;
  }

  /** Returns the starts of the cells by row, with room for `rows` rows. */
  cellStarts(rows: number): Int32Array {
    const starts = (this.#cellStarts ??= acquireBuffer(Int32Array, Math.max(1024, rows)));
    if (starts.length < rows) this.#cellStarts = growBuffer(starts, rows);
    return this.#cellStarts!;
  }

  /**
   * Records that the cell of this row, which begins at `start`, is null if the column holds numbers. Rows must be added in ascending order.
   */
  addMissing(row: number, start: number): void {
    const rows = (this.#missingRows ??= acquireBuffer(Int32Array, 256));
    const starts = (this.#missingStarts ??= acquireBuffer(Int32Array, 256));
    const i = this.missingCount++;
    if (i >= rows.length) this.#missingRows = growBuffer(rows, i + 1);
    if (i >= starts.length) this.#missingStarts = growBuffer(starts, i + 1);
    this.#missingRows![i] = row;
    this.#missingStarts![i] = start;
  }

  /** Returns the row of the `i`-th missing cell; -1 if there are fewer. */
  missingRow(i: number): number {
    return i >= 0 && i < this.missingCount ? this.#missingRows![i]! : -1;
  }

  missingStart(i: number): number {
    return this.#missingStarts![i]!;
  }

  /** Counts a NaN or infinite cell, which is null if the column holds numbers. */
  countNonFinite(kind: NonNumberKind.NaN | NonNumberKind.Infinite, line: number): void {
    const counts = this.#nonFiniteCounts;
    if (kind === NonNumberKind.NaN && counts.nans++ === 0) counts.nanLine = line;
    if (kind === NonNumberKind.Infinite && counts.infinities++ === 0) counts.infinityLine = line;
  }

  /**
   * Reports the NaN and infinite cells that `countNonFinite` has counted, unless the column holds text. If it holds text in another chunk,
   * `resolveTypeDependentWarnings` removes the warnings.
   */
  warnOfNonFinite(report: Report): void {
    if (this.isText) return;
    const { nans, nanLine, infinities, infinityLine } = this.#nonFiniteCounts;
    for (let i = 0; i < nans; i++)
      report.warn(nanLine, codes.nan, this.name, nullStoredWarning(NonNumberKind.NaN));
    for (let i = 0; i < infinities; i++)
      report.warn(
        infinityLine,
        codes.infinity,
        this.name,
        nullStoredWarning(NonNumberKind.Infinite),
      );
  }

  /**
   * Finds whether a column of numbers has integers that doubles cannot hold; `textAt` returns the cell that begins at a position. Choice:
   * CSV numbers are doubles, but a column of integers within the range of a long, some of which a double would round, becomes a long.
   */
  detectLongColumn(textAt: (start: number) => string, report: Report): void {
    if (!this.hasNumbers || this.isText) return;
    const { values } = this.numbers;
    let hasUnsafeInteger = false;
    for (let row = 0; row < values.length; row++) {
      const value = values[row]!;
      if (!Number.isInteger(value)) return;
      if (!Number.isSafeInteger(value)) hasUnsafeInteger = true;
    }
    this.areAllIntegers = true;
    if (!hasUnsafeInteger) return;
    const starts = this.cellStarts(values.length);
    let firstRoundedText: string | undefined;
    for (let row = 0; row < values.length; row++) {
      if (Number.isSafeInteger(values[row]!)) continue;
      const text = textAt(starts[row]!).trim();
      if (!/^-?\d{1,19}$/.test(text) || BigInt.asIntN(64, BigInt(text)) !== BigInt(text)) {
        this.areAllIntegers = false;
        return;
      }
      if (BigInt(values[row]!) !== BigInt(text)) firstRoundedText ??= text;
    }
    if (firstRoundedText === undefined) return;
    this.isExactInDoubles = false;
    const message = `${firstRoundedText} is a whole number that a double cannot hold: a field of whole numbers becomes a long`;
    report.warnOfType(codes.invalidValue, this.name, message);
  }

  column(): Column {
    const { isList } = this;
    if (!this.isText && !this.hasNumbers)
      return {
        ...this.#columnOfType('string'),
        isList,
        seen: this.missingCount > 0 ? 'missing' : 'null',
      };
    const textType = this.hasLongText ? 'text' : 'string';
    if (!this.isText && this.areAllIntegers) {
      return this.isExactInDoubles
        ? {
            ...this.#columnOfType('double'),
            isList,
            isWhole: true,
            ...(isList && { seen: 'mixed' }),
          }
        : { ...this.#columnOfType('long'), isList, seen: 'mixed' };
    }
    const inferredColumn = this.#columnOfType(this.isText ? textType : 'double');
    return isList ? { ...inferredColumn, isList, seen: 'mixed' } : inferredColumn;
  }

  appendNull(): void {
    this.length++;
  }

  override truncate(length: number): void {
    this.#numbers?.truncate(length);
    this.#strings?.truncate(length);
    while (this.missingCount > 0 && this.missingRow(this.missingCount - 1) >= length)
      this.missingCount--;
    if (length < this.length) this.length = length;
  }

  finish(length: number): Data {
    return (this.isText ? this.strings : this.numbers).finish(length);
  }

  override release(): void {
    this.#numbers?.release();
    this.#strings?.release();
    for (const buffer of [this.#cellStarts, this.#missingRows, this.#missingStarts])
      if (buffer !== null) releaseBuffer(buffer);
  }

  #columnOfType(type: StoredType): Column {
    return { name: this.name, physical: this.#physical, type, isList: false };
  }
}

/**
 * Returns the number in a cell; NaN for other text, including `nan`, `inf` and numbers beyond the range of a double. Choice: a number with
 * blanks around it in a CSV cell is a number.
 */
export function parseNumber(bytes: Uint8Array, from: number, to: number): number {
  let start = from;
  let end = to;
  while (start < end && bytes[start] === 32) start++;
  while (end > start && bytes[end - 1] === 32) end--;
  const value = parseFloatBytes(bytes, start, end);
  return value - value === 0 ? value : NaN;
}
