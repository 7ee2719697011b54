import type { Data } from 'apache-arrow';
import { budgets } from '../core/budgets.js';
import { type Column, mayWiden, type StoredType } from '../core/types.js';
import {
  BooleanBuilder,
  DoubleBuilder,
  IntegerBuilder,
  LongBuilder,
} from './fixed-width-builders.js';
import { Utf8Builder } from './utf8-builder.js';
import type { ColumnBuilder } from './column-builder.js';
import { ListBuilder, makeBuilder } from './nested-builders.js';
import {
  convertedToTextWarning,
  castScalar,
  isCastError,
  type CastError,
  type InputScalar,
  tooLongError,
} from './cast-scalar.js';
import { isoMicros } from './iso-date.js';
import type { RecordContext } from './record-context.js';
import {
  type NumberRunBuilder,
  type NumberRunKind,
  type ObjectFields,
  ValueColumn,
} from './value-column.js';
import { codes, firstOfListWarning, listOfOneWarning } from './validation-codes.js';

/** A column of a known scalar type, or of `json`, which stores every value as JSON text. */
export class ScalarColumn extends ValueColumn {
  readonly #column: Column;
  readonly #builder: ColumnBuilder;
  readonly #maxBytes: number;
  /** The wider type that a number needs; null if none has needed one. */
  #wider: StoredType | null = null;
  #listRow = -1;

  constructor(column: Column, path: string, context: RecordContext) {
    super(column.name, path, context);
    this.#column = column;
    this.#builder = makeBuilder(column);
    this.#maxBytes =
      column.type === 'string' && !context.isLenient ? budgets.stringBytes : Infinity;
  }

  override get storesJson(): boolean {
    return this.#column.type === 'json';
  }

  override get builder(): Utf8Builder | DoubleBuilder | LongBuilder | null {
    const { type } = this.#column;
    if (type === 'double') return this.#builder as DoubleBuilder;
    if (type === 'long') return this.#builder as LongBuilder;
    return type === 'string' || type === 'text' ? (this.#builder as Utf8Builder) : null;
  }

  override startNumbers(kind: NumberRunKind): NumberRunBuilder | null {
    if (!numberRuns[this.#column.type]?.includes(kind)) return null;
    this.#builder.padTo(this.length);
    return this.#builder as NumberRunBuilder;
  }

  override startTexts(_hasPlain: () => boolean): Utf8Builder | null {
    const { builder } = this;
    if (!(builder instanceof Utf8Builder)) return null;
    builder.padTo(this.length);
    return builder;
  }

  column(): Column {
    if (this.#wider !== null) return { ...this.#column, type: this.#wider, seen: 'mixed' };
    return this.#builder instanceof Utf8Builder ? this.#builder.column() : this.#column;
  }

  addBoolean(value: boolean): void {
    this.#add(value);
  }

  addInteger(value: number): void {
    const builder = this.#builder;
    if (builder instanceof LongBuilder && this.#column.type === 'long') {
      builder.padTo(this.length++);
      builder.append(value);
    } else this.#add(value);
  }

  addBigint(value: bigint): void {
    this.#add(value);
  }

  addDouble(value: number): void {
    if (this.#column.type === 'double') {
      this.#builder.padTo(this.length++);
      (this.#builder as DoubleBuilder).append(value);
    } else this.#add(value);
  }

  addString(bytes: Uint8Array, from: number, to: number): void {
    const builder = this.#builder;
    if (builder instanceof Utf8Builder) {
      if (to - from > this.#maxBytes) {
        if (this.#column.isDeclared) return this.#refuse(tooLongError(to - from));
        this.context.warn(codes.stringLength, this.path, convertedToTextWarning(to - from));
        builder.convertToTextType();
      }
      builder.padTo(this.length++);
      builder.appendBytes(bytes, from, to);
      return;
    }
    const micros = this.#column.type === 'date' ? isoMicros(bytes, from, to, true) : undefined;
    if (micros !== undefined) this.#append(micros);
    else this.#add(decoder.decode(bytes.subarray(from, to)));
  }

  beginObject(): ObjectFields | null {
    this.#refuse({
      code: codes.invalidValue,
      message: `an object is not a valid ${this.#column.type}`,
    });
    return null;
  }

  endObject(): void {}

  beginList(): ValueColumn | null {
    if (this.#listRow >= 0) {
      this.#refuse({
        code: codes.invalidValue,
        message: `a list in a list is not a valid ${this.#column.type}`,
      });
      return null;
    }
    this.context.warn(codes.unexpectedList, this.path, firstOfListWarning);
    this.#listRow = this.length;
    return this;
  }

  endList(): void {
    const from = this.#listRow;
    if (this.length === from) this.appendNull();
    else this.truncate(from + 1);
    this.#listRow = -1;
  }

  override truncate(length: number): void {
    this.#builder.truncate(length);
    if (length < this.length) this.length = length;
    this.#listRow = -1;
  }

  finish(length: number): Data {
    return this.#builder.finish(length);
  }

  override release(): void {
    this.#builder.release();
  }

  #add(value: InputScalar): void {
    const cast = castScalar(this.#column.type, value);
    if (isCastError(cast)) {
      if (!this.#widens(value, cast)) this.#refuse(cast);
    } else if (cast === null) this.appendNull();
    else this.#append(cast);
  }

  /**
   * If a number needs a wider type, the type of the column is not declared, and validation is on, records the wider type and returns true:
   * the chunk is then read again with the types unified over all chunks. Otherwise returns false.
   */
  #widens(value: InputScalar, misfit: CastError): boolean {
    const { type, isDeclared } = this.#column;
    const wider = (['long', 'double'] as const).find(
      (one) => mayWiden(type, one) && !isCastError(castScalar(one, value)),
    );
    if (isDeclared || this.context.isLenient || wider === undefined) return false;
    const message = `${misfit.message}: the field becomes a ${wider}`;
    this.context.warn(misfit.code, this.path, message);
    if (this.#wider === null) this.context.mixedColumnCount++;
    if (this.#wider !== 'double') this.#wider = wider;
    this.appendNull();
    return true;
  }

  #append(value: InputScalar): void {
    const builder = this.#builder;
    builder.padTo(this.length++);
    if (builder instanceof Utf8Builder) builder.appendString(value as string);
    else if (builder instanceof BooleanBuilder) builder.append(value as boolean);
    else if (typeof value === 'bigint') (builder as LongBuilder).appendBigint(value);
    else if (this.#column.type === 'float')
      (builder as DoubleBuilder).append(Math.fround(value as number));
    else (builder as DoubleBuilder | IntegerBuilder | LongBuilder).append(value as number);
  }

  #refuse(misfit: CastError): void {
    this.context.rejectUnlessLenient(misfit.code, this.path, misfit.message);
    this.appendNull();
  }
}

/** The kinds of runs of numbers that a column of each type stores unchanged. */
const numberRuns: Partial<Record<StoredType, readonly NumberRunKind[]>> = {
  boolean: ['boolean'],
  integer: ['integer'],
  long: ['integer', 'long'],
  double: ['integer', 'long', 'double'],
};

/** A column of lists of a known type; a single value is stored as a list of one, with a warning. */
export class ListColumn extends ValueColumn {
  readonly #elements: ValueColumn;
  readonly #list: ListBuilder<ValueColumn>;

  constructor(column: Column, path: string, context: RecordContext, element: ValueColumn) {
    super(column.name, path, context);
    this.#elements = element;
    this.#list = new ListBuilder(this.#elements);
  }

  override get storesLists(): boolean {
    return true;
  }

  column(): Column {
    return this.#list.column();
  }

  override startLists(): ListBuilder<ValueColumn> {
    this.#list.padTo(this.length);
    return this.#list;
  }

  addBoolean(value: boolean): void {
    this.#expectList();
    this.#elements.addBoolean(value);
    this.endList();
  }
  addInteger(value: number): void {
    this.#expectList();
    this.#elements.addInteger(value);
    this.endList();
  }
  addBigint(value: bigint): void {
    this.#expectList();
    this.#elements.addBigint(value);
    this.endList();
  }
  addDouble(value: number): void {
    this.#expectList();
    this.#elements.addDouble(value);
    this.endList();
  }
  addString(bytes: Uint8Array, from: number, to: number): void {
    this.#expectList();
    this.#elements.addString(bytes, from, to);
    this.endList();
  }

  beginObject(): ObjectFields | null {
    this.#expectList();
    const fields = this.#elements.beginObject();
    if (fields === null) this.endList();
    return fields;
  }

  endObject(): void {
    this.#elements.endObject();
    this.endList();
  }

  beginList(): ValueColumn {
    this.#list.padTo(this.length);
    return this.#elements;
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
    this.context.warn(codes.listExpected, this.path, listOfOneWarning);
    this.#list.padTo(this.length);
  }
}

const decoder = new TextDecoder();
