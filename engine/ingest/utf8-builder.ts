import { makeData, Utf8, type Data } from 'apache-arrow';
import { acquireBuffer, dataViewOf, growBuffer, releaseBuffer } from '../core/buffers.js';
import type { PackedStrings } from '../core/packed-strings.js';
import type { Column } from '../core/types.js';
import { bitmapOfOnes, setBit, growBitmapTo } from './validity-bitmap.js';
import { ColumnBuilder } from './column-builder.js';
import { wordBytes, type TextDictionary } from './text-dictionary.js';

/** Strings: `string`, `text`, `blob` and `json`. */
export class Utf8Builder extends ColumnBuilder {
  /** Total size of the values in bytes. Arrow's 32-bit offsets limit it to 2 GiB; chunks are far smaller. */
  usedBytes = 0;
  #offsets = acquireBuffer(Int32Array, 1024);
  #bytes = acquireBuffer(Uint8Array, 8192);
  #column: Column;
  /** Whether a value was longer than the type `string` allows, so that the column now has the type `text`. */
  wasConvertedToText = false;

  constructor(column: Column) {
    super();
    this.#column = column;
    this.#offsets[0] = 0;
  }

  column(): Column {
    return this.#column;
  }

  convertToTextType(): void {
    this.wasConvertedToText = true;
    this.#column = { ...this.#column, type: 'text' };
  }

  override reserveRows(length: number): void {
    if (length >= this.#offsets.length) this.#offsets = growBuffer(this.#offsets, length + 1);
  }

  /** Appends `source[from..to)`, which must be UTF-8. */
  appendBytes(source: Uint8Array, from: number, to: number): void {
    const size = to - from;
    const end = this.usedBytes + size;
    if (end > this.#bytes.length) this.#bytes = growBuffer(this.#bytes, end);
    const bytes = this.#bytes;
    // For up to about forty bytes, a loop is faster than `set`, which needs a view and a call of the runtime.
    if (size <= 40) for (let i = from, at = this.usedBytes; i < to; i++) bytes[at++] = source[i]!;
    else bytes.set(source.subarray(from, to), this.usedBytes);
    this.endValue(end);
  }

  /** For each index, appends the entry of the dictionary at this index. */
  appendFromDictionary({ bytes, begins, ends, nulls }: TextDictionary, indices: Int32Array): void {
    const from = this.length;
    let size = wordBytes;
    for (let k = 0; k < indices.length; k++) size += ends[indices[k]!]! - begins[indices[k]!]!;
    const target = this.reserve(size);
    const targetView = dataViewOf(target);
    this.reserveRows(from + indices.length);
    const offsets = this.#offsets;
    let { usedBytes } = this;
    for (let k = 0; k < indices.length; k++) {
      const index = indices[k]!;
      const start = begins[index]!;
      const length = ends[index]! - start;
      // Copying whole words writes bytes after the end of a text; the next text overwrites them.
      for (let i = 0; i < length; i += wordBytes)
        targetView.setInt32(usedBytes + i, bytes.getInt32(start + i, true), true);
      usedBytes += length;
      offsets[from + k + 1] = usedBytes;
    }
    this.usedBytes = usedBytes;
    this.length += indices.length;
    if (nulls !== null) this.#mark(from, (k) => nulls[indices[k]!] === 0);
    else if (this.validityBits !== null) this.#mark(from, () => true);
  }

  /** Appends the first `count` texts. `isValid` returns whether a text is not null; it is null if all texts are valid. */
  appendConsecutive(
    { bytes, offsets }: PackedStrings,
    count: number,
    isValid: ((i: number) => boolean) | null,
  ): void {
    const from = this.length;
    const first = offsets[0]!;
    const size = offsets[count]! - first;
    const shift = this.usedBytes - first;
    this.reserve(size).set(bytes.subarray(first, first + size), this.usedBytes);
    this.reserveRows(from + count);
    const ends = this.#offsets;
    for (let k = 1; k <= count; k++) ends[from + k] = offsets[k]! + shift;
    this.usedBytes += size;
    this.length += count;
    if (isValid !== null || this.validityBits !== null) this.#mark(from, isValid ?? (() => true));
  }

  /** Records which of the values from `from` on are null. */
  #mark(from: number, isValid: (k: number) => boolean): void {
    this.validityBits = growBitmapTo(this.validityBits ?? bitmapOfOnes(from), this.length);
    for (let i = from; i < this.length; i++)
      if (isValid(i - from)) this.validityBits[i >> 3]! |= 1 << (i & 7);
      else this.nullCount++;
  }

  /** Reserves `size` bytes and returns the buffer; the caller writes a value from `usedBytes` on and then calls `endValue`. */
  reserve(size: number): Uint8Array {
    if (this.usedBytes + size > this.#bytes.length)
      this.#bytes = growBuffer(this.#bytes, this.usedBytes + size);
    return this.#bytes;
  }

  /** Ends a value written to the reserved bytes; `end` is the position after its last byte. */
  endValue(end: number): void {
    const i = this.length;
    if (i + 1 >= this.#offsets.length) this.#offsets = growBuffer(this.#offsets, i + 2);
    if (this.validityBits !== null) this.validityBits = setBit(this.validityBits, i);
    this.usedBytes = end;
    this.#offsets[i + 1] = end;
    this.length = i + 1;
  }

  /**
   * Appends `count` adjacent values, which are the first `size` bytes of `source`; value i ends at `ends[i]`. An empty value becomes null.
   */
  appendRun(source: Uint8Array, size: number, ends: Int32Array, count: number): void {
    const from = this.length;
    const { usedBytes: end } = this;
    this.reserve(size).set(source.subarray(0, size), end);
    if (from + count >= this.#offsets.length)
      this.#offsets = growBuffer(this.#offsets, from + count + 1);
    const offsets = this.#offsets;
    let filled = 0;
    for (let i = 0, last = 0; i < count; i++) {
      const next = ends[i]!;
      if (next > last) filled++;
      last = next;
      offsets[from + i + 1] = end + next;
    }
    if (filled < count) this.validityBits ??= bitmapOfOnes(from);
    if (this.validityBits !== null) {
      const valid = (this.validityBits = growBitmapTo(this.validityBits, from + count));
      for (let i = from; i < from + count; i++)
        if (offsets[i]! < offsets[i + 1]!) valid[i >> 3]! |= 1 << (i & 7);
    }
    this.nullCount += count - filled;
    this.usedBytes = end + size;
    this.length = from + count;
  }

  appendString(value: string): void {
    const bytes = this.reserve(value.length * 3);
    const { written } = encoder.encodeInto(value, bytes.subarray(this.usedBytes));
    this.endValue(this.usedBytes + written);
  }

  appendNull(): void {
    const i = this.length;
    if (i + 1 >= this.#offsets.length) this.#offsets = growBuffer(this.#offsets, i + 2);
    this.validityBits ??= bitmapOfOnes(i);
    this.nullCount++;
    this.#offsets[i + 1] = this.usedBytes;
    this.length = i + 1;
  }

  override padTo(length: number): void {
    while (this.length < length) this.appendNull();
  }

  override truncate(length: number): void {
    if (this.length <= length) return;
    this.usedBytes = this.#offsets[length]!;
    super.truncate(length);
  }

  finish(length: number): Data {
    this.padTo(length);
    return makeData({
      type: new Utf8(),
      ...this.validityData(),
      valueOffsets: this.#offsets.subarray(0, length + 1),
      data: this.#bytes.subarray(0, this.usedBytes),
    });
  }

  override release(): void {
    releaseBuffer(this.#offsets);
    releaseBuffer(this.#bytes);
  }
}

const encoder = new TextEncoder();
