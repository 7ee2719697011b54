import type { Data } from 'apache-arrow';
import type { Column } from '../core/types.js';
import { ListBuilder } from './nested-builders.js';
import type { RecordContext } from './record-context.js';
import { type ObjectFields, ValueColumn } from './value-column.js';

/**
 * A column of a declared type whose values decide whether it holds lists. It stores single values until the first list comes; from then on
 * it stores lists, with a single value as a list of one. If there were single values before the first list, the column is mixed, and the
 * chunk is read again with a column of lists.
 */
export class OpenListColumn extends ValueColumn {
  /** The single values, or the elements of the lists. */
  readonly #values: ValueColumn;
  #list: ListBuilder<ValueColumn> | null = null;
  #hasSingle = false;
  #isMixed = false;

  /** `values` is the column for single values of the declared type. */
  constructor(values: ValueColumn, path: string, context: RecordContext) {
    super(values.name, path, context);
    this.#values = values;
  }

  column(): Column {
    const column = this.#values.column();
    return { ...column, isList: this.#list !== null, ...(this.#isMixed && { seen: 'mixed' }) };
  }

  addBoolean(value: boolean): void {
    this.#begin().addBoolean(value);
    this.#end();
  }
  addInteger(value: number): void {
    this.#begin().addInteger(value);
    this.#end();
  }
  addBigint(value: bigint): void {
    this.#begin().addBigint(value);
    this.#end();
  }
  addDouble(value: number): void {
    this.#begin().addDouble(value);
    this.#end();
  }
  addString(bytes: Uint8Array, from: number, to: number): void {
    this.#begin().addString(bytes, from, to);
    this.#end();
  }

  beginObject(): ObjectFields | null {
    const fields = this.#begin().beginObject();
    if (fields === null) this.#end();
    return fields;
  }

  endObject(): void {
    this.#values.endObject();
    this.#end();
  }

  beginList(): ValueColumn {
    if (this.#list === null) {
      if (this.#hasSingle && !this.#isMixed) this.context.mixedColumnCount++;
      this.#isMixed = this.#hasSingle;
      // Only the values are removed; the types that were inferred for members remain.
      this.#values.truncate(0);
      this.#list = new ListBuilder(this.#values);
    }
    this.#list.padTo(this.length);
    return this.#values;
  }

  endList(): void {
    this.#end();
  }

  override truncate(length: number): void {
    if (this.#list !== null) this.#list.truncate(length);
    else this.#values.truncate(length);
    if (length < this.length) this.length = length;
  }

  finish(length: number): Data {
    return (this.#list ?? this.#values).finish(length);
  }

  override release(): void {
    (this.#list ?? this.#values).release();
  }

  #begin(): ValueColumn {
    if (this.#list === null) this.#hasSingle = true;
    (this.#list ?? this.#values).padTo(this.length);
    return this.#values;
  }

  #end(): void {
    this.#list?.endList();
    this.length++;
  }
}
