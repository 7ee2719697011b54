import { Field, List, makeData, Struct, type Data } from 'apache-arrow';
import type { Column } from '../core/types.js';
import { bitmapOfOnes, setBit } from './validity-bitmap.js';
import { acquireBuffer, growBuffer, releaseBuffer } from '../core/buffers.js';
import {
  BooleanBuilder,
  DoubleBuilder,
  IntegerBuilder,
  LongBuilder,
} from './fixed-width-builders.js';
import { Utf8Builder } from './utf8-builder.js';
import { ColumnBuilder } from './column-builder.js';

/** A list column: append the elements to `items`, then call `endList`. */
export class ListBuilder<B extends ColumnBuilder = ColumnBuilder> extends ColumnBuilder {
  readonly items: B;
  #offsets = acquireBuffer(Int32Array, 1024);

  constructor(items: B) {
    super();
    this.items = items;
    this.#offsets[0] = 0;
  }

  override release(): void {
    releaseBuffer(this.#offsets);
    this.items.release();
  }

  column(): Column {
    return { ...this.items.column(), isList: true };
  }

  override reserveRows(length: number): void {
    if (length >= this.#offsets.length) this.#offsets = growBuffer(this.#offsets, length + 1);
    if (!(this.items instanceof StructBuilder)) this.items.reserveRows(length);
  }

  /** Ends a list: its elements are those appended since the last value. */
  endList(): void {
    const i = this.length;
    if (i + 1 >= this.#offsets.length) this.#offsets = growBuffer(this.#offsets, i + 2);
    if (this.validityBits !== null) this.validityBits = setBit(this.validityBits, i);
    this.#offsets[i + 1] = this.items.length;
    this.length = i + 1;
  }

  /** Ends several lists whose elements have been appended: list i has `counts[i]` elements, or is null if `counts[i]` is negative. */
  endLists(counts: Int32Array): void {
    this.reserveRows(this.length + counts.length);
    for (let i = 0; i < counts.length; i++) {
      const count = counts[i]!;
      if (count < 0) {
        this.appendNull();
        continue;
      }
      const at = this.length;
      if (this.validityBits !== null) this.validityBits = setBit(this.validityBits, at);
      this.#offsets[at + 1] = this.#offsets[at]! + count;
      this.length = at + 1;
    }
  }

  appendNull(): void {
    const i = this.length;
    if (i + 1 >= this.#offsets.length) this.#offsets = growBuffer(this.#offsets, i + 2);
    this.validityBits ??= bitmapOfOnes(i);
    this.nullCount++;
    this.#offsets[i + 1] = this.#offsets[i]!;
    this.length = i + 1;
  }

  override padTo(length: number): void {
    while (this.length < length) this.appendNull();
  }

  override truncate(length: number): void {
    super.truncate(length);
    // Elements of an unfinished list are removed as well.
    this.items.truncate(this.#offsets[this.length]!);
  }

  finish(length: number): Data {
    this.padTo(length);
    const child = this.items.finish(this.#offsets[length]!);
    return makeData({
      type: new List(new Field('element', child.type, true)),
      ...this.validityData(),
      valueOffsets: this.#offsets.subarray(0, length + 1),
      child,
    });
  }
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

  /** Returns the builder of a child, created on first use. */
  child(column: Column): ColumnBuilder {
    let builder = this.children.get(column.name);
    if (builder === undefined) {
      builder = makeBuilder(column);
      this.children.set(column.name, builder);
    }
    return builder;
  }

  override release(): void {
    for (const child of this.children.values()) child.release();
  }

  override reserveRows(length: number): void {
    for (const child of this.children.values()) child.reserveRows(length);
  }

  endObject(): void {
    const i = this.length;
    if (this.validityBits !== null) this.validityBits = setBit(this.validityBits, i);
    this.length = i + 1;
  }

  /** Ends `count` objects whose children have been appended; missing children are padded later. */
  endObjects(count: number): void {
    if (this.validityBits === null) this.length += count;
    else for (let i = 0; i < count; i++) this.endObject();
  }

  appendNull(): void {
    this.validityBits ??= bitmapOfOnes(this.length);
    this.nullCount++;
    this.length++;
  }

  override truncate(length: number): void {
    super.truncate(length);
    for (const child of this.children.values()) child.truncate(this.length);
  }

  finish(length: number): Data {
    this.padTo(length);
    const children = [...this.children.values()].map((child) => child.finish(length));
    const columns = this.column().children!;
    const fields = children.map((data, i) => new Field(columns[i]!.physical, data.type, true));
    return makeData({ type: new Struct(fields), ...this.validityData(), children });
  }
}

/** Creates the builder for a column: for its type, or for a list of that type. */
export function makeBuilder(column: Column): ColumnBuilder {
  if (column.isList) return new ListBuilder(makeBuilder({ ...column, isList: false }));
  switch (column.type) {
    case 'boolean':
      return new BooleanBuilder(column);
    case 'integer':
      return new IntegerBuilder(column);
    case 'float':
    case 'double':
      return new DoubleBuilder(column);
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
