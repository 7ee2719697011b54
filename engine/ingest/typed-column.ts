import type { Data } from 'apache-arrow';
import { budgets } from '../core/budgets.js';
import type { Column } from '../core/types.js';
import {
  BooleanBuilder,
  DoubleBuilder,
  type IntegerBuilder,
  LongBuilder,
  Utf8Builder,
} from './builders.js';
import type { ColumnBuilder } from './column-builder.js';
import { ListBuilder, makeBuilder } from './nested-builders.js';
import { castScalar, isMisfit, type Misfit, type Scalar, tooLong } from './cast.js';
import { isoMicros } from './iso-date.js';
import { ObjectColumn, type ObjectFields } from './object-column.js';
import { type Recording, ValueColumn } from './value-column.js';

/** The column for a field whose type is settled: values are cast to it or refused. */
export function typedColumn(
  column: Column,
  path: string,
  depth: number,
  recording: Recording,
): ValueColumn {
  if (column.isList) return new ListColumn(column, path, depth, recording);
  if (column.type === 'object') return new ObjectColumn(column, path, depth, recording);
  return new ScalarColumn(column, path, recording);
}

/** A scalar column, `json` included, which takes every value as text. */
class ScalarColumn extends ValueColumn {
  readonly #column: Column;
  readonly #store: ColumnBuilder;
  readonly #maxBytes: number;
  #listFrom = -1;

  constructor(column: Column, path: string, recording: Recording) {
    super(column.name, path, recording);
    this.#column = column;
    this.#store = makeBuilder(column);
    this.#maxBytes =
      column.type === 'string' && !recording.isLenient ? budgets.stringBytes : Infinity;
  }

  override get takesJson(): boolean {
    return this.#column.type === 'json';
  }

  override get store(): Utf8Builder | DoubleBuilder | LongBuilder | null {
    const { type } = this.#column;
    if (type === 'double') return this.#store as DoubleBuilder;
    if (type === 'long') return this.#store as LongBuilder;
    return type === 'string' || type === 'text' ? (this.#store as Utf8Builder) : null;
  }

  column(): Column {
    return this.#column;
  }

  addBoolean(value: boolean): void {
    this.#add(value);
  }

  addInteger(value: number): void {
    const store = this.#store;
    if (store instanceof LongBuilder && this.#column.type === 'long') {
      store.padTo(this.length++);
      store.append(value);
    } else this.#add(value);
  }

  addBigint(value: bigint): void {
    this.#add(value);
  }

  addDouble(value: number): void {
    if (this.#column.type === 'double') {
      this.#store.padTo(this.length++);
      (this.#store as DoubleBuilder).append(value);
    } else this.#add(value);
  }

  addText(bytes: Uint8Array, from: number, to: number): void {
    const store = this.#store;
    if (store instanceof Utf8Builder) {
      if (to - from > this.#maxBytes) this.#refuse(tooLong(to - from));
      else {
        store.padTo(this.length++);
        store.appendBytes(bytes, from, to);
      }
      return;
    }
    const micros = this.#column.type === 'date' ? isoMicros(bytes, from, to, true) : undefined;
    if (micros !== undefined) this.#append(micros);
    else this.#add(decoder.decode(bytes.subarray(from, to)));
  }

  beginObject(): ObjectFields | null {
    this.#refuse({ code: 301, message: `an object is not a valid ${this.#column.type}` });
    return null;
  }

  endObject(): void {}

  beginList(): ValueColumn | null {
    if (this.#listFrom >= 0) {
      this.#refuse({ code: 301, message: `a list in a list is not a valid ${this.#column.type}` });
      return null;
    }
    this.recording.warn(303, this.path, 'a list where one value is expected: its first is taken');
    this.#listFrom = this.length;
    return this;
  }

  endList(): void {
    const from = this.#listFrom;
    if (this.length === from) this.appendNull();
    else this.truncate(from + 1);
    this.#listFrom = -1;
  }

  override truncate(length: number): void {
    this.#store.truncate(length);
    if (length < this.length) this.length = length;
    this.#listFrom = -1;
  }

  finish(length: number): Data {
    return this.#store.finish(length);
  }

  override release(): void {
    this.#store.release();
  }

  #add(value: Scalar): void {
    const cast = castScalar(this.#column.type, value);
    if (isMisfit(cast)) this.#refuse(cast);
    else if (cast === null) this.appendNull();
    else this.#append(cast);
  }

  #append(value: Scalar): void {
    const store = this.#store;
    store.padTo(this.length++);
    if (store instanceof Utf8Builder) store.appendString(value as string);
    else if (store instanceof BooleanBuilder) store.append(value as boolean);
    else if (typeof value === 'bigint') (store as LongBuilder).appendBigint(value);
    else if (this.#column.type === 'float')
      (store as DoubleBuilder).append(Math.fround(value as number));
    else (store as DoubleBuilder | IntegerBuilder | LongBuilder).append(value as number);
  }

  #refuse(misfit: Misfit): void {
    this.recording.fault(misfit.code, this.path, misfit.message);
    this.appendNull();
  }
}

/** A list column: a single value becomes a list of one, with a warning. */
class ListColumn extends ValueColumn {
  readonly #items: ValueColumn;
  readonly #list: ListBuilder<ValueColumn>;

  constructor(column: Column, path: string, depth: number, recording: Recording) {
    super(column.name, path, recording);
    this.#items = typedColumn({ ...column, isList: false }, path, depth, recording);
    this.#list = new ListBuilder(this.#items);
  }

  override get takesLists(): boolean {
    return true;
  }

  column(): Column {
    return this.#list.column();
  }

  addBoolean(value: boolean): void {
    this.#expectList();
    this.#items.addBoolean(value);
    this.endList();
  }
  addInteger(value: number): void {
    this.#expectList();
    this.#items.addInteger(value);
    this.endList();
  }
  addBigint(value: bigint): void {
    this.#expectList();
    this.#items.addBigint(value);
    this.endList();
  }
  addDouble(value: number): void {
    this.#expectList();
    this.#items.addDouble(value);
    this.endList();
  }
  addText(bytes: Uint8Array, from: number, to: number): void {
    this.#expectList();
    this.#items.addText(bytes, from, to);
    this.endList();
  }

  beginObject(): ObjectFields | null {
    this.#expectList();
    const fields = this.#items.beginObject();
    if (fields === null) this.endList();
    return fields;
  }

  endObject(): void {
    this.#items.endObject();
    this.endList();
  }

  beginList(): ValueColumn {
    this.#list.padTo(this.length);
    return this.#items;
  }

  endList(): void {
    this.#list.endList();
    this.length++;
  }

  override truncate(length: number): void {
    this.#list.truncate(length);
    if (length < this.length) this.length = length;
  }

  finish(length: number): Data {
    return this.#list.finish(length);
  }

  override release(): void {
    this.#list.release();
  }

  #expectList(): void {
    this.recording.warn(
      302,
      this.path,
      'one value where a list is expected: a list of one is stored',
    );
    this.#list.padTo(this.length);
  }
}

const decoder = new TextDecoder();
