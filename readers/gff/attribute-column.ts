import { Field, List, makeData, Utf8, type Data } from 'apache-arrow';
import { budgets } from '../../engine/core/budgets.js';
import { acquireBuffer, growBuffer, releaseBuffer } from '../../engine/core/buffers.js';
import { convertedToTextWarning } from '../../engine/ingest/cast-scalar.js';
import type { ColumnSpec } from '../../engine/ingest/object-column.js';
import { ValueColumn } from '../../engine/ingest/value-column.js';
import { codes } from '../../engine/ingest/validation-codes.js';
import type { Column } from '../../engine/core/types.js';

/**
 * The column of an attribute: single strings, or lists of strings if any record of the chunk has several values or the attribute always is
 * a list. The column stores all values in one form and decides between the two when the chunk is finished, so that no part of a chunk has
 * to be read again.
 */
export class AttributeColumn extends ValueColumn {
  /**
   * The number of values that the current run of lines has for this column. `runEnd` is the index, among the values of the run sorted by
   * column, at which `FastAttributeParser` puts the next of them.
   */
  runCount = 0;
  runEnd = 0;
  readonly #physical: string;
  readonly #maxBytes: number;
  #isList: boolean;
  /** Whether a value is longer than a string may be, so that the type is `text`; never with validation off. */
  #hasLongText = false;
  /**
   * Value i is `#bytes[#valueOffsets[i]..#valueOffsets[i + 1])` and belongs to row `#rows[i]`. Rows are stored with values, because most
   * attributes occur in few rows.
   */
  #bytes = acquireBuffer(Uint8Array, 8192);
  #valueOffsets = acquireBuffer(Int32Array, 1024);
  #rows = acquireBuffer(Int32Array, 1024);
  #valueCount = 0;
  /** The offsets that `finish` returns; kept for their release. */
  #offsets: Int32Array | null = null;

  /** With `isList`, the values are stored as lists even if no record has several. */
  constructor({ name, physical, path, context }: ColumnSpec, isList: boolean) {
    super(name, path, context);
    this.#physical = physical;
    this.#isList = isList;
    this.#valueOffsets[0] = 0;
    this.#maxBytes = context.isLenient ? Infinity : budgets.stringBytes;
  }

  column(): Column {
    const type = this.#hasLongText ? 'text' : 'string';
    return { name: this.name, physical: this.#physical, type, isList: this.#isList };
  }

  /** Appends a value to a row: the row of the previous value or a later one. */
  appendValue(row: number, source: Uint8Array, from: number, to: number): void {
    const size = to - from;
    if (size > this.#maxBytes) {
      this.context.warn(codes.stringLength, this.path, convertedToTextWarning(size));
      this.#hasLongText = true;
    }
    const i = this.#valueCount;
    const at = this.#reserve(1, size);
    if (i > 0 && this.#rows[i - 1] === row) this.#isList = true;
    this.#rows[i] = row;
    this.#valueOffsets[i + 1] = at + size;
    this.length = row + 1;
    if (size <= 40) for (let i = 0; i < size; i++) this.#bytes[at + i] = source[from + i]!;
    else this.#bytes.set(source.subarray(from, to), at);
  }

  /**
   * Appends adjacent values, none of which exceeds the maximum length of a string: the first `size` bytes of `source`. Value k belongs to
   * the row `rows[k]` and ends at `ends[k]`.
   */
  appendRun(rows: Int32Array, source: Uint8Array, size: number, ends: Int32Array): void {
    const firstIndex = this.#valueCount;
    const at = this.#reserve(rows.length, size);
    this.#bytes.set(source.subarray(0, size), at);
    let previousRow = firstIndex > 0 ? this.#rows[firstIndex - 1]! : -1;
    for (let k = 0; k < rows.length; k++) {
      const row = rows[k]!;
      if (row === previousRow) this.#isList = true;
      previousRow = row;
      this.#rows[firstIndex + k] = row;
      this.#valueOffsets[firstIndex + k + 1] = at + ends[k]!;
    }
    this.length = previousRow + 1;
  }

  /** Reserves space for more values, of `size` bytes in total, and counts them; returns the position of the first of them in `#bytes`. */
  #reserve(addedValues: number, size: number): number {
    const at = this.#valueOffsets[this.#valueCount]!;
    this.#valueCount += addedValues;
    if (this.#valueCount >= this.#valueOffsets.length)
      this.#valueOffsets = growBuffer(this.#valueOffsets, this.#valueCount + 1);
    if (this.#valueCount > this.#rows.length) this.#rows = growBuffer(this.#rows, this.#valueCount);
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
    while (this.#valueCount > 0 && this.#rows[this.#valueCount - 1]! >= length) this.#valueCount--;
  }

  override release(): void {
    for (const buffer of [this.#bytes, this.#valueOffsets, this.#rows, this.#offsets])
      if (buffer !== null) releaseBuffer(buffer);
  }

  finish(length: number): Data {
    this.padTo(length);
    const valueCount = this.#valueCount;
    const ends = this.#valueOffsets.subarray(0, valueCount + 1);
    const valueOffsets = (this.#offsets = acquireBuffer(Int32Array, length + 1)).subarray(
      0,
      length + 1,
    );
    const validityBits = new Uint8Array((length + 7) >> 3);
    let row = 0;
    let filledRows = 0;
    for (let i = 0; i < valueCount; i++) {
      const valueRow = this.#rows[i]!;
      const offset = this.#isList ? i : ends[i]!;
      if (row <= valueRow) filledRows++;
      while (row <= valueRow) valueOffsets[row++] = offset;
      validityBits[valueRow >> 3]! |= 1 << (valueRow & 7);
    }
    valueOffsets.fill(this.#isList ? valueCount : ends[valueCount]!, row);
    const nullCount = length - filledRows;
    const commonProperties = {
      length,
      nullCount,
      nullBitmap: nullCount === 0 ? null : validityBits,
      valueOffsets,
    };
    const data = this.#bytes.subarray(0, ends[valueCount]);
    const type = new Utf8();
    if (!this.#isList) return makeData({ type, ...commonProperties, data });
    const child = makeData({ type, length: valueCount, nullCount: 0, valueOffsets: ends, data });
    return makeData({
      type: new List(new Field('element', type, true)),
      ...commonProperties,
      child,
    });
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
