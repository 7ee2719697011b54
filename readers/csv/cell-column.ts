import type { Data } from 'apache-arrow';
import { ColumnBuilder } from '../../engine/ingest/column-builder.js';
import { DoubleBuilder } from '../../engine/ingest/fixed-width-builders.js';
import { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import { acquire, grown, release } from '../../engine/core/buffers.js';
import type { Column, StoredType } from '../../engine/core/types.js';
import { floatAt } from '../text/numbers.js';

/** A column whose type is inferred from its cells: double if all of them are numbers, else string with the text of the cells. */
export class CellColumn extends ColumnBuilder {
  readonly name: string;
  /** A cell was not a number. Cells of rejected rows count, so that the type does not depend on how the file is split. */
  isText: boolean;
  /** Where the cell of each number begins: if a later cell is not a number, the text of the earlier ones is needed. */
  #cellStarts: Int32Array | null = null;
  readonly #physical: string;
  // Created on first use, because a file may have thousands of columns.
  #numbers: DoubleBuilder | null = null;
  #strings: Utf8Builder | null = null;

  constructor(name: string, physical: string, isText: boolean) {
    super();
    this.name = name;
    this.isText = isText;
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
    if (starts.length < rows) this.#cellStarts = grown(starts, rows);
    return this.#cellStarts!;
  }

  column(): Column {
    if (this.isText) return this.#as('string');
    return this.hasNumbers ? this.#as('double') : { ...this.#as('string'), seen: 'null' };
  }

  appendNull(): void {
    this.length++;
  }

  override truncate(length: number): void {
    this.#numbers?.truncate(length);
    this.#strings?.truncate(length);
    if (length < this.length) this.length = length;
  }

  finish(length: number): Data {
    return (this.isText ? this.strings : this.numbers).finish(length);
  }

  override release(): void {
    this.#numbers?.release();
    this.#strings?.release();
    if (this.#cellStarts !== null) release(this.#cellStarts);
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
