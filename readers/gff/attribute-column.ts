import { Field, List, makeData, Utf8, type Data } from 'apache-arrow';
import { budgets } from '../../engine/core/budgets.js';
import { acquireBuffer, growBuffer, releaseBuffer } from '../../engine/core/buffers.js';
import { convertedToTextWarning } from '../../engine/ingest/cast-scalar.js';
import type { ColumnSpec } from '../../engine/ingest/object-column.js';
import { ValueColumn } from '../../engine/ingest/value-column.js';
import { codes } from '../../engine/ingest/validation-codes.js';
import type { Column } from '../../engine/core/types.js';

/**
 * The column of an attribute: single strings, or lists of strings if any record of the chunk has several values. The column stores all
 * values in one form and decides between the two when the chunk is finished, so that no part of a chunk has to be read again.
 */
export class AttributeColumn extends ValueColumn {
  /**
   * The number of values that the current run of lines has for this column, and where the next of them is noted (`FastAttributeParser`).
   */
  runCount = 0;
  runEnd = 0;
  readonly #physical: string;
  readonly #maxBytes: number;
  #isList: boolean;
  /** Whether a value is longer than a string may be. */
  #isText = false;
  /**
   * Value i is `bytes[ends[i]..ends[i + 1])` and belongs to row `rows[i]`. Rows are stored with values, because most attributes occur in
   * few rows.
   */
  #bytes = acquireBuffer(Uint8Array, 8192);
  #ends = acquireBuffer(Int32Array, 1024);
  #rows = acquireBuffer(Int32Array, 1024);
  #count = 0;
  /** The offsets that `finish` returns; kept for their release. */
  #offsets: Int32Array | null = null;

  /** With `isList`, the values are stored as lists even if no record has several. */
  constructor({ name, physical, path, context }: ColumnSpec, isList: boolean) {
    super(name, path, context);
    this.#physical = physical;
    this.#isList = isList;
    this.#ends[0] = 0;
    this.#maxBytes = context.isLenient ? Infinity : budgets.stringBytes;
  }

  column(): Column {
    const type = this.#isText ? 'text' : 'string';
    return { name: this.name, physical: this.#physical, type, isList: this.#isList };
  }

  /** Appends a value to a row: the row of the previous value or a later one. */
  appendValue(row: number, source: Uint8Array, from: number, to: number): void {
    const size = to - from;
    if (size > this.#maxBytes) {
      this.context.warn(codes.stringLength, this.path, convertedToTextWarning(size));
      this.#isText = true;
    }
    const i = this.#count;
    const at = this.#reserve(1, size);
    if (i > 0 && this.#rows[i - 1] === row) this.#isList = true;
    this.#rows[i] = row;
    this.#ends[i + 1] = at + size;
    this.length = row + 1;
    if (size <= 40) for (let i = 0; i < size; i++) this.#bytes[at + i] = source[from + i]!;
    else this.#bytes.set(source.subarray(from, to), at);
  }

  /**
   * Appends adjacent values, none of which exceeds the maximum length of a string: the first `size` bytes of `source`. Value k belongs to
   * the row `rows[k]` and ends at `ends[k]`.
   */
  appendRun(rows: Int32Array, source: Uint8Array, size: number, ends: Int32Array): void {
    const first = this.#count;
    const at = this.#reserve(rows.length, size);
    this.#bytes.set(source.subarray(0, size), at);
    let before = first > 0 ? this.#rows[first - 1]! : -1;
    for (let k = 0; k < rows.length; k++) {
      const row = rows[k]!;
      if (row === before) this.#isList = true;
      before = row;
      this.#rows[first + k] = row;
      this.#ends[first + k + 1] = at + ends[k]!;
    }
    this.length = before + 1;
  }

  /** Reserves space for more values, of `size` bytes in total, and counts them; returns the position of the first of them in `#bytes`. */
  #reserve(values: number, size: number): number {
    const at = this.#ends[this.#count]!;
    this.#count += values;
    if (this.#count >= this.#ends.length) this.#ends = growBuffer(this.#ends, this.#count + 1);
    if (this.#count > this.#rows.length) this.#rows = growBuffer(this.#rows, this.#count);
    if (at + size > this.#bytes.length) this.#bytes = growBuffer(this.#bytes, at + size);
    return at;
  }

  override appendNull(): void {
    this.length++;
  }

  override padTo(length: number): void {
    if (this.length < length) this.length = length;
  }

  override truncate(length: number): void {
    if (length >= this.length) return;
    this.length = length;
    while (this.#count > 0 && this.#rows[this.#count - 1]! >= length) this.#count--;
  }

  override release(): void {
    for (const buffer of [this.#bytes, this.#ends, this.#rows, this.#offsets])
      if (buffer !== null) releaseBuffer(buffer);
  }

  finish(length: number): Data {
    this.padTo(length);
    const count = this.#count;
    const ends = this.#ends.subarray(0, count + 1);
    const valueOffsets = (this.#offsets = acquireBuffer(Int32Array, length + 1)).subarray(
      0,
      length + 1,
    );
    const valid = new Uint8Array((length + 7) >> 3);
    let row = 0;
    let filled = 0;
    for (let i = 0; i < count; i++) {
      const valueRow = this.#rows[i]!;
      const offset = this.#isList ? i : ends[i]!;
      if (row <= valueRow) filled++;
      while (row <= valueRow) valueOffsets[row++] = offset;
      valid[valueRow >> 3]! |= 1 << (valueRow & 7);
    }
    valueOffsets.fill(this.#isList ? count : ends[count]!, row);
    const nullCount = length - filled;
    const common = { length, nullCount, nullBitmap: nullCount === 0 ? null : valid, valueOffsets };
    const data = this.#bytes.subarray(0, ends[count]);
    const type = new Utf8();
    if (!this.#isList) return makeData({ type, ...common, data });
    const child = makeData({ type, length: count, nullCount: 0, valueOffsets: ends, data });
    return makeData({ type: new List(new Field('element', type, true)), ...common, child });
  }

  addString(bytes: Uint8Array, from: number, to: number): void {
    this.appendValue(this.length, bytes, from, to);
  }
  addBoolean(): void {
    rejectNonText();
  }
  addInteger(): void {
    rejectNonText();
  }
  addBigint(): void {
    rejectNonText();
  }
  addDouble(): void {
    rejectNonText();
  }
  beginObject(): null {
    return rejectNonText();
  }
  endObject(): void {
    rejectNonText();
  }
  beginList(): null {
    return rejectNonText();
  }
  endList(): void {
    rejectNonText();
  }
}

function rejectNonText(): never {
  throw new Error('attributes are texts');
}
