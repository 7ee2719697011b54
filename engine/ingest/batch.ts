import {
  Bool,
  Field,
  Float32,
  Float64,
  Int32,
  Int64,
  List,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  TimestampMicrosecond,
  Utf8,
  type Data,
} from 'apache-arrow';
import type { Column, Columns } from '../types.js';
import { storedColumns } from './unify.js';

/** Columns of one chunk, ready to be written as a segment. */
export interface Batch {
  /** The columns in `data`. */
  readonly columns: Columns;
  /** Every column that the chunk saw, those marked `seen` included, which are not in `data`: what unifying needs. */
  readonly seen: Columns;
  readonly rows: number;
  readonly data: RecordBatch;
}

/**
 * What readers fill, column by column and straight from the bytes; no object per record.
 *
 * A column is filled sparsely: whoever appends a value first calls `padTo(row)`, which fills the rows that had none with
 * nulls; `finish` pads the rest. `rollback` takes back what a record had appended before it turned out to be malformed.
 * Invariant: while a record is being read, no column holds more than one value beyond `rows`.
 */
export class BatchBuilder {
  /** Records that are complete. */
  rows = 0;
  readonly #columns = new Map<string, ColumnBuilder>();

  /** The builder of a top-level column, made when first asked for; the first `column` given for a name decides its type. */
  column(column: Column): ColumnBuilder {
    let builder = this.#columns.get(column.name);
    if (builder === undefined) {
      builder = makeBuilder(column);
      this.#columns.set(column.name, builder);
    }
    return builder;
  }

  /** Adds a builder of the caller's own making. */
  add(name: string, builder: ColumnBuilder): void {
    this.#columns.set(name, builder);
  }

  endRecord(): void {
    this.rows++;
  }

  /** Forgets everything appended after the first `rows` records. */
  rollback(rows: number): void {
    this.rows = rows;
    for (const column of this.#columns.values()) column.truncate(rows);
  }

  /** The finished columns, in the order in which they were first asked for. The builder is used up. */
  finish(): Batch {
    const builders = [...this.#columns.values()];
    const seen = builders.map((builder) => builder.column());
    const stored = builders.filter((_, i) => seen[i]!.seen === undefined);
    const children = stored.map((builder) => builder.finish(this.rows));
    return { ...makeBatch(storedColumns(seen), this.rows, children), seen };
  }
}

/** A batch from finished columns of `rows` values each. */
export function makeBatch(columns: Columns, rows: number, children: readonly Data[]): Batch {
  const fields = children.map((data, i) => new Field(columns[i]!.physical, data.type, true));
  const struct = makeData({
    type: new Struct(fields),
    length: rows,
    nullCount: 0,
    children: [...children],
  });
  return { columns, seen: columns, rows, data: new RecordBatch(new Schema(fields), struct) };
}

/** One column under construction. */
export abstract class ColumnBuilder {
  /** Values appended so far, nulls included. */
  length = 0;
  nullCount = 0;
  protected valid: Uint8Array = new Uint8Array(256);

  /** The column as it stands; a dynamic one may still change its type. */
  abstract column(): Column;
  /** Pads to `length` values and hands over the buffers. */
  abstract finish(length: number): Data;
  protected abstract appendEmpty(): void;
  protected abstract cut(length: number): void;

  appendNull(): void {
    this.nullCount++;
    this.appendEmpty();
    this.length++;
  }

  padTo(length: number): void {
    while (this.length < length) this.appendNull();
  }

  truncate(length: number): void {
    if (this.length <= length) return;
    for (let i = length; i < this.length; i++) {
      if (((this.valid[i >> 3] ?? 0) >> (i & 7)) & 1) this.valid[i >> 3]! &= ~(1 << (i & 7));
      else this.nullCount--;
    }
    this.cut(length);
    this.length = length;
  }

  /** Marks the value being appended as present; call it exactly once per value, before `length` grows. */
  protected markValid(): void {
    const byte = this.length >> 3;
    if (byte >= this.valid.length) this.valid = grown(this.valid, byte + 1);
    this.valid[byte]! |= 1 << (this.length & 7);
  }

  protected validity(): Uint8Array | null {
    if (this.nullCount === 0) return null;
    const bytes = (this.length + 7) >> 3;
    if (bytes > this.valid.length) this.valid = grown(this.valid, bytes);
    return this.valid.subarray(0, bytes);
  }
}

/** Text: `string`, `text`, `blob` and `json`. */
export class Utf8Builder extends ColumnBuilder {
  /** Bytes of all values so far. Arrow's 32-bit offsets end at 2 GB; chunks are far smaller. */
  end = 0;
  #offsets = new Int32Array(1024);
  #bytes: Uint8Array = new Uint8Array(8192);
  readonly #column: Column;

  constructor(column: Column) {
    super();
    this.#column = column;
  }

  column(): Column {
    return this.#column;
  }

  /** Appends `source[from..to)`, which must be UTF-8. */
  appendBytes(source: Uint8Array, from: number, to: number): void {
    const size = to - from;
    const end = this.end + size;
    if (end > this.#bytes.length) this.#bytes = grown(this.#bytes, end);
    const bytes = this.#bytes;
    let at = this.end;
    // A plain loop beats `set` up to about forty bytes: no view object, no call into the runtime.
    if (size <= 40) for (let i = from; i < to; i++) bytes[at++] = source[i]!;
    else bytes.set(source.subarray(from, to), at);
    this.commit(end);
  }

  /** Room for a value of at most `size` bytes from `end` on, which the caller writes and then commits. */
  reserve(size: number): Uint8Array {
    if (this.end + size > this.#bytes.length) this.#bytes = grown(this.#bytes, this.end + size);
    return this.#bytes;
  }

  /** Ends a value written into reserved bytes; `end` is the position behind its last byte. */
  commit(end: number): void {
    this.markValid();
    this.end = end;
    this.#setOffset(end);
    this.length++;
  }

  appendString(value: string): void {
    const bytes = this.reserve(value.length * 3);
    const { written } = encoder.encodeInto(value, bytes.subarray(this.end));
    this.commit(this.end + written);
  }

  finish(length: number): Data {
    this.padTo(length);
    return makeData({
      type: new Utf8(),
      length,
      nullCount: this.nullCount,
      nullBitmap: this.validity(),
      valueOffsets: this.#offsets.subarray(0, length + 1),
      data: this.#bytes.subarray(0, this.end),
    });
  }

  #setOffset(end: number): void {
    const i = this.length + 1;
    if (i >= this.#offsets.length) this.#offsets = grown(this.#offsets, i + 1);
    this.#offsets[i] = end;
  }

  protected appendEmpty(): void {
    this.#setOffset(this.end);
  }

  protected cut(length: number): void {
    this.end = this.#offsets[length]!;
  }
}

/** Numbers of 32 bits or floating point: `integer`, `float`, `double`. */
export class NumberBuilder extends ColumnBuilder {
  #values: Int32Array | Float32Array | Float64Array;
  readonly #column: Column;

  constructor(column: Column) {
    super();
    this.#column = column;
    if (column.type === 'integer') this.#values = new Int32Array(1024);
    else if (column.type === 'float') this.#values = new Float32Array(1024);
    else this.#values = new Float64Array(1024);
  }

  column(): Column {
    return this.#column;
  }

  append(value: number): void {
    this.markValid();
    if (this.length >= this.#values.length) this.#values = grown(this.#values, this.length + 1);
    this.#values[this.length++] = value;
  }

  finish(length: number): Data {
    this.padTo(length);
    const values = this.#values.subarray(0, length);
    const nulls = { length, nullCount: this.nullCount, nullBitmap: this.validity() };
    if (values instanceof Int32Array)
      return makeData({ type: new Int32(), ...nulls, data: values });
    if (values instanceof Float32Array)
      return makeData({ type: new Float32(), ...nulls, data: values });
    return makeData({ type: new Float64(), ...nulls, data: values });
  }

  protected appendEmpty(): void {
    if (this.length >= this.#values.length) this.#values = grown(this.#values, this.length + 1);
  }

  protected cut(): void {}
}

/** 64-bit integers: `long`, and `date` as microseconds since 1970 UTC. */
export class LongBuilder extends ColumnBuilder {
  #values = new BigInt64Array(1024);
  #halves = new Int32Array(this.#values.buffer);
  readonly #column: Column;

  constructor(column: Column) {
    super();
    this.#column = column;
  }

  column(): Column {
    return this.#column;
  }

  /** Appends a whole number within +-2^53 without making a bigint (little-endian halves, as arrow stores them). */
  append(value: number): void {
    this.markValid();
    this.appendEmpty();
    this.#halves[2 * this.length] = value | 0;
    this.#halves[2 * this.length + 1] = Math.floor(value / 4294967296);
    this.length++;
  }

  appendBigint(value: bigint): void {
    this.markValid();
    this.appendEmpty();
    this.#values[this.length++] = value;
  }

  finish(length: number): Data {
    this.padTo(length);
    const data = this.#values.subarray(0, length);
    const nulls = { length, nullCount: this.nullCount, nullBitmap: this.validity() };
    return this.#column.type === 'date'
      ? makeData({ type: new TimestampMicrosecond('UTC'), ...nulls, data })
      : makeData({ type: new Int64(), ...nulls, data });
  }

  protected appendEmpty(): void {
    if (this.length < this.#values.length) return;
    this.#values = grown(this.#values, this.length + 1);
    this.#halves = new Int32Array(this.#values.buffer);
  }

  protected cut(): void {}
}

/** `boolean`. */
export class BooleanBuilder extends ColumnBuilder {
  #bits: Uint8Array = new Uint8Array(256);
  readonly #column: Column;

  constructor(column: Column) {
    super();
    this.#column = column;
  }

  column(): Column {
    return this.#column;
  }

  append(value: boolean): void {
    this.markValid();
    this.#set(value);
    this.length++;
  }

  finish(length: number): Data {
    this.padTo(length);
    return makeData({
      type: new Bool(),
      length,
      nullCount: this.nullCount,
      nullBitmap: this.validity(),
      data: this.#bits.subarray(0, (length + 7) >> 3),
    });
  }

  #set(value: boolean): void {
    const byte = this.length >> 3;
    if (byte >= this.#bits.length) this.#bits = grown(this.#bits, byte + 1);
    const bit = 1 << (this.length & 7);
    if (value) this.#bits[byte]! |= bit;
    else this.#bits[byte]! &= ~bit;
  }

  protected appendEmpty(): void {
    this.#set(false);
  }

  protected cut(): void {}
}

/** A list column: append the elements to `items`, then call `endList`. */
export class ListBuilder<B extends ColumnBuilder = ColumnBuilder> extends ColumnBuilder {
  readonly items: B;
  #offsets = new Int32Array(1024);

  constructor(items: B) {
    super();
    this.items = items;
  }

  column(): Column {
    return { ...this.items.column(), isList: true };
  }

  /** Ends one list value: all elements appended since the last value are its own. */
  endList(): void {
    this.markValid();
    this.appendEmpty();
    this.length++;
  }

  finish(length: number): Data {
    this.padTo(length);
    const child = this.items.finish(this.#offsets[length]!);
    return makeData({
      type: new List(new Field('element', child.type, true)),
      length,
      nullCount: this.nullCount,
      nullBitmap: this.validity(),
      valueOffsets: this.#offsets.subarray(0, length + 1),
      child,
    });
  }

  override truncate(length: number): void {
    super.truncate(length);
    // The elements of a list that was begun but not ended go too.
    this.items.truncate(this.#offsets[this.length]!);
  }

  protected appendEmpty(): void {
    const i = this.length + 1;
    if (i >= this.#offsets.length) this.#offsets = grown(this.#offsets, i + 1);
    this.#offsets[i] = this.items.length;
  }

  protected cut(): void {}
}

/** An object column: fill the children (each `padTo(length)` first), then call `endObject`. */
export class StructBuilder extends ColumnBuilder {
  readonly children = new Map<string, ColumnBuilder>();
  readonly #column: Column;

  constructor(column: Column) {
    super();
    this.#column = column;
    for (const child of column.children ?? []) this.children.set(child.name, makeBuilder(child));
  }

  column(): Column {
    const children = [...this.children.values()].map((child) => child.column());
    return { ...this.#column, children };
  }

  /** The builder of a child, made when first asked for. */
  child(column: Column): ColumnBuilder {
    let builder = this.children.get(column.name);
    if (builder === undefined) {
      builder = makeBuilder(column);
      this.children.set(column.name, builder);
    }
    return builder;
  }

  endObject(): void {
    this.markValid();
    this.length++;
  }

  finish(length: number): Data {
    this.padTo(length);
    const children = [...this.children.values()].map((child) => child.finish(length));
    const columns = this.column().children!;
    const fields = children.map((data, i) => new Field(columns[i]!.physical, data.type, true));
    return makeData({
      type: new Struct(fields),
      length,
      nullCount: this.nullCount,
      nullBitmap: this.validity(),
      children,
    });
  }

  override truncate(length: number): void {
    super.truncate(length);
    for (const child of this.children.values()) child.truncate(this.length);
  }

  protected appendEmpty(): void {}

  protected cut(): void {}
}

/** The builder for a column's type; of a list of it when the column is a list. */
export function makeBuilder(column: Column): ColumnBuilder {
  if (column.isList) return new ListBuilder(makeBuilder({ ...column, isList: false }));
  switch (column.type) {
    case 'boolean':
      return new BooleanBuilder(column);
    case 'integer':
    case 'float':
    case 'double':
      return new NumberBuilder(column);
    case 'long':
    case 'date':
      return new LongBuilder(column);
    case 'object':
      return new StructBuilder(column);
    case 'string':
    case 'text':
    case 'blob':
    case 'json':
      return new Utf8Builder(column);
  }
}

const encoder = new TextEncoder();

type Growable = Uint8Array | Int32Array | Float32Array | Float64Array | BigInt64Array;

/** A copy with room for at least `length` elements, at least doubled. */
export function grown<T extends Growable>(array: T, length: number): T {
  const Type = array.constructor as new (length: number) => T;
  const bigger = new Type(Math.max(array.length * 2, length));
  (bigger as Uint8Array).set(array as Uint8Array);
  return bigger;
}
