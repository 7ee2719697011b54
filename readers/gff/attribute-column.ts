import { Field, List, makeData, Utf8, type Data } from 'apache-arrow';
import { budgets } from '../../engine/core/budgets.js';
import { acquire, growBuffer, release } from '../../engine/core/buffers.js';
import { becomesText } from '../../engine/ingest/cast.js';
import type { ColumnSpec } from '../../engine/ingest/object-column.js';
import { ValueColumn } from '../../engine/ingest/value-column.js';
import { codes } from '../../engine/ingest/validation-codes.js';
import type { Column } from '../../engine/core/types.js';
import type { ScanBuffer } from '../text/scan-buffer.js';

/**
 * The column of an attribute: a text, or a list of texts as soon as one record has several. Which it is is decided when the
 * chunk is finished, so nothing has to be read again within a chunk.
 */
export class AttributeColumn extends ValueColumn {
  readonly #physical: string;
  readonly #maxBytes: number;
  #isList: boolean;
  /** A value is longer than a string may be. */
  #isText = false;
  #bytes = acquire(Uint8Array, 8192);
  /** Value i is `bytes[ends[i]..ends[i + 1])`; row i has the values from `lists[i]` to `lists[i + 1]`. */
  #ends = acquire(Int32Array, 1024);
  #lists = acquire(Int32Array, 1024);
  #count = 0;
  /** Values noted whose bytes are not here yet: where they stand in the window. */
  #noted = 0;
  #from: Int32Array | null = null;
  #to: Int32Array | null = null;

  /** `isList`: the values are lists even when no record has several. */
  constructor({ name, physical, path, context }: ColumnSpec, isList: boolean) {
    super(name, path, context);
    this.#physical = physical;
    this.#isList = isList;
    this.#ends[0] = this.#lists[0] = 0;
    this.#maxBytes = context.isLenient ? Infinity : budgets.stringBytes;
  }

  column(): Column {
    const type = this.#isText ? 'text' : 'string';
    return { name: this.name, physical: this.#physical, type, isList: this.#isList };
  }

  /** Adds a value to the row that is being filled; values of other keys may come in between. */
  add(row: number, source: Uint8Array, from: number, to: number): void {
    const size = to - from;
    if (size > this.#maxBytes) {
      this.context.warn(codes.stringLength, this.path, becomesText(size));
      this.#isText = true;
    }
    if (this.length > row) this.#isList = true;
    else this.padTo(row + 1);
    let at = this.#ends[this.#count]!;
    const end = at + size;
    if (end > this.#bytes.length) this.#bytes = growBuffer(this.#bytes, end);
    const bytes = this.#bytes;
    if (size <= 40) for (let i = from; i < to; i++) bytes[at++] = source[i]!;
    else bytes.set(source.subarray(from, to), at);
    const count = ++this.#count;
    if (count >= this.#ends.length) this.#ends = growBuffer(this.#ends, count + 1);
    this.#ends[count] = end;
    this.#lists[row + 1] = count;
  }

  /**
   * Adds `window.bytes[from..to)` as a value of a row, later: the caller has checked its length, calls `settle` before the
   * window moves on and adds nothing else until then.
   */
  note(row: number, from: number, to: number): void {
    if (this.length > row) this.#isList = true;
    else this.padTo(row + 1);
    const i = this.#noted++;
    if (this.#from === null || this.#to === null) {
      this.#from = acquire(Int32Array, 1024);
      this.#to = acquire(Int32Array, 1024);
    } else if (i >= Math.min(this.#from.length, this.#to.length)) {
      this.#from = growBuffer(this.#from, i + 1);
      this.#to = growBuffer(this.#to, i + 1);
    }
    this.#from[i] = from;
    this.#to[i] = to;
    this.#lists[row + 1] = ++this.#count;
  }

  /** Fetches the bytes of the values noted, which are at most `scanCells`. */
  settle(window: ScanBuffer): void {
    const notedCount = this.#noted;
    if (notedCount === 0) return;
    this.#noted = 0;
    window.from.set(this.#from!.subarray(0, notedCount));
    window.to.set(this.#to!.subarray(0, notedCount));
    const size = window.gather(0, notedCount);
    const first = this.#count - notedCount;
    const end = this.#ends[first]!;
    if (end + size > this.#bytes.length) this.#bytes = growBuffer(this.#bytes, end + size);
    this.#bytes.set(window.gathered.subarray(0, size), end);
    if (this.#count >= this.#ends.length) this.#ends = growBuffer(this.#ends, this.#count + 1);
    const ends = this.#ends;
    for (let i = 0; i < notedCount; i++) ends[first + 1 + i] = end + window.ends[i]!;
  }

  override appendNull(): void {
    this.padTo(this.length + 1);
  }

  override padTo(length: number): void {
    if (length >= this.#lists.length) this.#lists = growBuffer(this.#lists, length + 1);
    while (this.length < length) this.#lists[++this.length] = this.#count;
  }

  override truncate(length: number): void {
    if (length >= this.length) return;
    this.length = length;
    this.#count = this.#lists[length]!;
  }

  override release(): void {
    for (const buffer of [this.#bytes, this.#ends, this.#lists, this.#from, this.#to])
      if (buffer !== null) release(buffer);
  }

  finish(length: number): Data {
    this.padTo(length);
    const lists = this.#lists.subarray(0, length + 1);
    const nullBitmap = new Uint8Array((length + 7) >> 3);
    let nullCount = 0;
    for (let i = 0; i < length; i++) {
      if (lists[i] === lists[i + 1]) nullCount++;
      else nullBitmap[i >> 3]! |= 1 << (i & 7);
    }
    const common = { length, nullCount, nullBitmap: nullCount === 0 ? null : nullBitmap };
    const data = this.#bytes.subarray(0, this.#ends[this.#count]);
    const type = new Utf8();
    if (this.#isList) {
      const valueOffsets = this.#ends.subarray(0, this.#count + 1);
      const child = makeData({ type, length: this.#count, nullCount: 0, valueOffsets, data });
      const list = new List(new Field('element', type, true));
      return makeData({ type: list, ...common, valueOffsets: lists, child });
    }
    // Rows of at most one value each: where the value ends, the row does.
    for (let i = 0; i <= length; i++) lists[i] = this.#ends[lists[i]!]!;
    return makeData({ type, ...common, valueOffsets: lists, data });
  }

  addString(bytes: Uint8Array, from: number, to: number): void {
    this.add(this.length, bytes, from, to);
  }
  addBoolean(): void {
    notText();
  }
  addInteger(): void {
    notText();
  }
  addBigint(): void {
    notText();
  }
  addDouble(): void {
    notText();
  }
  beginObject(): null {
    return notText();
  }
  endObject(): void {
    notText();
  }
  beginList(): null {
    return notText();
  }
  endList(): void {
    notText();
  }
}

function notText(): never {
  throw new Error('attributes are texts');
}
