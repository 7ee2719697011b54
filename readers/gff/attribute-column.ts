import { Field, List, makeData, Utf8, type Data } from 'apache-arrow';
import { budgets } from '../../engine/budgets.js';
import { grown } from '../../engine/buffers.js';
import { tooLong } from '../../engine/ingest/cast.js';
import { type Recording, ValueColumn } from '../../engine/ingest/value-column.js';
import type { Column } from '../../engine/types.js';

/**
 * The column of an attribute: a text, or a list of texts as soon as one record has several. Which it is is decided when the
 * chunk is finished, so nothing has to be read again within a chunk.
 */
export class AttributeColumn extends ValueColumn {
  readonly #physical: string;
  readonly #maxBytes: number;
  #isList: boolean;
  #bytes: Uint8Array = new Uint8Array(8192);
  /** Value i is `bytes[ends[i]..ends[i + 1])`; row i has the values from `lists[i]` to `lists[i + 1]`. */
  #ends = new Int32Array(1024);
  #lists = new Int32Array(1024);
  #count = 0;

  constructor(name: string, physical: string, path: string, recording: Recording, isList: boolean) {
    super(name, path, recording);
    this.#physical = physical;
    this.#isList = isList;
    this.#maxBytes = recording.isLenient ? Infinity : budgets.stringBytes;
  }

  column(): Column {
    return { name: this.name, physical: this.#physical, type: 'string', isList: this.#isList };
  }

  /** Adds a value to those of the row that is being filled; there may be others of other keys in between. */
  add(row: number, source: Uint8Array, from: number, to: number): void {
    const size = to - from;
    if (size > this.#maxBytes) {
      const { code, message } = tooLong(size);
      this.recording.fault(code, this.path, message);
    }
    if (this.length > row) this.#isList = true;
    else this.padTo(row + 1);
    let at = this.#ends[this.#count]!;
    const end = at + size;
    if (end > this.#bytes.length) this.#bytes = grown(this.#bytes, end);
    const bytes = this.#bytes;
    if (size <= 40) for (let i = from; i < to; i++) bytes[at++] = source[i]!;
    else bytes.set(source.subarray(from, to), at);
    const count = ++this.#count;
    if (count >= this.#ends.length) this.#ends = grown(this.#ends, count + 1);
    this.#ends[count] = end;
    this.#lists[row + 1] = count;
  }

  override appendNull(): void {
    this.padTo(this.length + 1);
  }

  override padTo(length: number): void {
    if (length >= this.#lists.length) this.#lists = grown(this.#lists, length + 1);
    while (this.length < length) this.#lists[++this.length] = this.#count;
  }

  override truncate(length: number): void {
    if (length >= this.length) return;
    this.length = length;
    this.#count = this.#lists[length]!;
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

  addText(bytes: Uint8Array, from: number, to: number): void {
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
