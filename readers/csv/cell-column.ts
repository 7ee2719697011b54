import type { Data } from 'apache-arrow';
import { ColumnBuilder } from '../../engine/ingest/column-builder.js';
import { DoubleBuilder } from '../../engine/ingest/fixed-width-builders.js';
import { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import { acquire, grown, release } from '../../engine/core/buffers.js';
import type { Column, StoredType } from '../../engine/core/types.js';
import { floatAt } from '../text/numbers.js';

/** A column whose type its cells decide: doubles while all of them are numbers, else text as it stands in the file. */
export class CellColumn extends ColumnBuilder {
  readonly name: string;
  /** Text was met; also in a row that was then rejected, so that the type does not depend on how the file is cut. */
  isText: boolean;
  /** Where the cell of each number begins, in case text comes later: then the numbers' own text is wanted. */
  #places: Int32Array | null = null;
  readonly #physical: string;
  // Made when first needed: a file may have thousands of columns.
  #numbers: DoubleBuilder | null = null;
  #texts: Utf8Builder | null = null;

  constructor(name: string, physical: string, isText: boolean) {
    super();
    this.name = name;
    this.isText = isText;
    this.#physical = physical;
  }

  get numbers(): DoubleBuilder {
    return (this.#numbers ??= new DoubleBuilder(this.#as('double')));
  }

  get texts(): Utf8Builder {
    return (this.#texts ??= new Utf8Builder(this.#as('string')));
  }

  get hasNumbers(): boolean {
    const numbers = this.#numbers;
    return numbers !== null && numbers.length > numbers.nullCount;
  }

  /** Room to note where the cells of rows before `rows` begin. */
  places(rows: number): Int32Array {
    const places = (this.#places ??= acquire(Int32Array, Math.max(1024, rows)));
    if (places.length < rows) this.#places = grown(places, rows);
    return this.#places!;
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
    this.#texts?.truncate(length);
    if (length < this.length) this.length = length;
  }

  finish(length: number): Data {
    return (this.isText ? this.texts : this.numbers).finish(length);
  }

  override release(): void {
    this.#numbers?.release();
    this.#texts?.release();
    if (this.#places !== null) release(this.#places);
  }

  #as(type: StoredType): Column {
    return { name: this.name, physical: this.#physical, type, isList: false };
  }
}

/**
 * The number in a cell; NaN when the cell is text, as `nan`, `inf` and numbers beyond the range of a double are. Choice: a number
 * with blanks around it is a number.
 */
export function numberIn(bytes: Uint8Array, from: number, to: number): number {
  let start = from;
  let end = to;
  while (start < end && bytes[start] === 32) start++;
  while (end > start && bytes[end - 1] === 32) end--;
  const value = floatAt(bytes, start, end);
  return value - value === 0 ? value : NaN;
}
