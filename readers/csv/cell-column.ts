import type { Data } from 'apache-arrow';
import { ColumnBuilder } from '../../engine/ingest/column-builder.js';
import { DoubleBuilder } from '../../engine/ingest/fixed-width-builders.js';
import { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import { acquire, growBuffer, release } from '../../engine/core/buffers.js';
import type { Column, StoredType } from '../../engine/core/types.js';
import { floatAt } from '../text/numbers.js';
import { codes } from '../../engine/ingest/validation-codes.js';
import type { Report } from '../reader.js';
import { nullWarning, NonNumber } from './null-texts.js';

/** The properties of a column of cells; `isText` makes all cells texts. */
export interface CellColumnOptions {
  readonly name: string;
  readonly physical: string;
  readonly isText: boolean;
  readonly isList: boolean;
}

/**
 * A column whose type is inferred from its cells: double if all of them are numbers, else string with the text of the cells. Integers become longs
 * if doubles cannot hold all of them.
 */
export class CellColumn extends ColumnBuilder {
  readonly name: string;
  /** Whether a cell was not a number. Cells of rejected rows count, so that the type does not depend on how the file is split. */
  isText: boolean;
  /** Whether all numbers are written as integers of 64 bits, and whether doubles hold all of them; set at the end. */
  isWhole = false;
  isExact = true;
  /** Whether a cell is longer than a string may be. */
  hasLongText = false;
  /** Whether the cells are to be stored as lists of one element, in a second pass. */
  readonly isList: boolean;
  /** The start of each number's cell: if a later cell is not a number, the texts of the earlier ones are needed. */
  #cellStarts: Int32Array | null = null;
  readonly #physical: string;
  /** The rows of texts that are null if the column holds numbers, and the starts of their cells. */
  #missingRows: Int32Array | null = null;
  #missingStarts: Int32Array | null = null;
  missingCount = 0;
  /** How many cells are NaN or infinite, and the line of the first of either kind. */
  readonly #nonFinite = { nans: 0, nanLine: 0, infinities: 0, infinityLine: 0 };
  // Created on first use, because a file may have thousands of columns.
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
    return (this.#numbers ??= new DoubleBuilder(this.#as('double')));
  }

  get strings(): Utf8Builder {
    return (this.#strings ??= new Utf8Builder(this.#as('string')));
  }

  get hasNumbers(): boolean {
    const numbers = this.#numbers;
    return numbers !== null && numbers.length > numbers.nullCount;
  }

  /** The starts of the cells by row, with room for `rows` rows. */
  cellStarts(rows: number): Int32Array {
    const starts = (this.#cellStarts ??= acquire(Int32Array, Math.max(1024, rows)));
    if (starts.length < rows) this.#cellStarts = growBuffer(starts, rows);
    return this.#cellStarts!;
  }

  /** Notes that the cell of this row, which begins at `start`, is null if the column holds numbers; rows come in ascending order. */
  addMissing(row: number, start: number): void {
    const rows = (this.#missingRows ??= acquire(Int32Array, 256));
    const starts = (this.#missingStarts ??= acquire(Int32Array, 256));
    const i = this.missingCount++;
    if (i >= rows.length) this.#missingRows = growBuffer(rows, i + 1);
    if (i >= starts.length) this.#missingStarts = growBuffer(starts, i + 1);
    this.#missingRows![i] = row;
    this.#missingStarts![i] = start;
  }

  /** The row of the `i`-th missing cell; -1 if there are not so many. */
  missingRow(i: number): number {
    return i >= 0 && i < this.missingCount ? this.#missingRows![i]! : -1;
  }

  missingStart(i: number): number {
    return this.#missingStarts![i]!;
  }

  /** Notes a NaN or infinite cell, which is null if the column holds numbers. */
  noteNonFinite(kind: NonNumber.NaN | NonNumber.Infinite, line: number): void {
    const found = this.#nonFinite;
    if (kind === NonNumber.NaN && found.nans++ === 0) found.nanLine = line;
    if (kind === NonNumber.Infinite && found.infinities++ === 0) found.infinityLine = line;
  }

  /**
   * Reports the NaN and infinite cells of the chunk unless the column holds text; `settledFindings` removes the warnings if it does in
   * another chunk.
   */
  warnOfNonFinite(report: Report): void {
    if (this.isText) return;
    const { nans, nanLine, infinities, infinityLine } = this.#nonFinite;
    for (let i = 0; i < nans; i++)
      report.warn(nanLine, codes.nan, this.name, nullWarning(NonNumber.NaN));
    for (let i = 0; i < infinities; i++)
      report.warn(infinityLine, codes.infinity, this.name, nullWarning(NonNumber.Infinite));
  }

  /**
   * Finds whether a column of numbers holds integers that doubles cannot; `textAt` returns the cell that begins at a position. Choice: CSV
   * numbers are doubles, but integers with digits that a double would lose make their column a long.
   */
  noteWhole(textAt: (start: number) => string, report: Report): void {
    if (!this.hasNumbers || this.isText) return;
    const { values } = this.numbers;
    let hasLarge = false;
    for (let row = 0; row < values.length; row++) {
      const value = values[row]!;
      if (!Number.isInteger(value)) return;
      if (!Number.isSafeInteger(value)) hasLarge = true;
    }
    this.isWhole = true;
    if (!hasLarge) return;
    const starts = this.cellStarts(values.length);
    let first: string | undefined;
    for (let row = 0; row < values.length; row++) {
      if (Number.isSafeInteger(values[row]!)) continue;
      const text = textAt(starts[row]!);
      if (!/^-?\d{1,19}$/.test(text) || BigInt.asIntN(64, BigInt(text)) !== BigInt(text)) {
        this.isWhole = false;
        return;
      }
      if (BigInt(values[row]!) !== BigInt(text)) first ??= text;
    }
    if (first === undefined) return;
    this.isExact = false;
    const message = `${first} is a whole number that a double cannot hold: a field of whole numbers becomes a long`;
    report.warnOfType(codes.invalidValue, this.name, message);
  }

  column(): Column {
    const { isList } = this;
    if (!this.isText && !this.hasNumbers)
      return { ...this.#as('string'), isList, seen: this.missingCount > 0 ? 'missing' : 'null' };
    const text = this.hasLongText ? 'text' : 'string';
    if (!this.isText && this.isWhole) {
      return this.isExact
        ? { ...this.#as('double'), isList, isWhole: true, ...(isList && { seen: 'mixed' }) }
        : { ...this.#as('long'), isList, seen: 'mixed' };
    }
    const found = this.#as(this.isText ? text : 'double');
    return isList ? { ...found, isList, seen: 'mixed' } : found;
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
      if (buffer !== null) release(buffer);
  }

  #as(type: StoredType): Column {
    return { name: this.name, physical: this.#physical, type, isList: false };
  }
}

/**
 * The number in a cell; NaN for other text, including `nan`, `inf` and numbers out of the range of a double. Choice: a number with blanks
 * around it in a CSV cell is a number.
 */
export function numberIn(bytes: Uint8Array, from: number, to: number): number {
  let start = from;
  let end = to;
  while (start < end && bytes[start] === 32) start++;
  while (end > start && bytes[end - 1] === 32) end--;
  const value = floatAt(bytes, start, end);
  return value - value === 0 ? value : NaN;
}
