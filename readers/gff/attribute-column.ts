import { Field, List, makeData, Utf8, type Data } from 'apache-arrow';
import { budgets } from '../../engine/core/budgets.js';
import { acquireBuffer, growBuffer, releaseBuffer } from '../../engine/core/buffers.js';
import { becomesTextWarning } from '../../engine/ingest/cast.js';
import { wordBytes } from '../../engine/ingest/text-dictionary.js';
import type { ColumnSpec } from '../../engine/ingest/object-column.js';
import { ValueColumn } from '../../engine/ingest/value-column.js';
import { codes } from '../../engine/ingest/validation-codes.js';
import type { Column } from '../../engine/core/types.js';

/**
 * The column of an attribute: a text, or a list of texts if any record has several values. The column stores all values in one form and
 * decides between text and list when the chunk is finished, so that no part of a chunk has to be read again.
 */
export class AttributeColumn extends ValueColumn {
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
  #words = dataViewOf(this.#bytes);
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
      this.context.warn(codes.stringLength, this.path, becomesTextWarning(size));
      this.#isText = true;
    }
    const at = this.#reserve(row, size);
    if (size <= 40) for (let i = 0; i < size; i++) this.#bytes[at + i] = source[from + i]!;
    else this.#bytes.set(source.subarray(from, to), at);
  }

  /** Does the same as `appendValue` for a value that does not exceed the length of a string and is followed by at least three bytes in `source`. */
  appendValueByWords(row: number, source: DataView, from: number, to: number): void {
    const size = to - from;
    const at = this.#reserve(row, size);
    const words = this.#words;
    for (let i = 0; i < size; i += wordBytes)
      words.setInt32(at + i, source.getInt32(from + i, true), true);
  }

  /** Reserves space for a value of `size` bytes and a word after it; returns the position of the value in `#bytes`. */
  #reserve(row: number, size: number): number {
    const i = this.#count++;
    if (i + 1 >= this.#ends.length) this.#ends = growBuffer(this.#ends, i + 2);
    if (i >= this.#rows.length) this.#rows = growBuffer(this.#rows, i + 1);
    const at = this.#ends[i]!;
    if (at + size + wordBytes > this.#bytes.length) {
      this.#bytes = growBuffer(this.#bytes, at + size + wordBytes);
      this.#words = dataViewOf(this.#bytes);
    }
    if (i > 0 && this.#rows[i - 1] === row) this.#isList = true;
    this.#rows[i] = row;
    this.#ends[i + 1] = at + size;
    if (this.length <= row) this.length = row + 1;
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

/** Returns a `DataView` of the bytes of an array. */
export function dataViewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
