import type { Data } from 'apache-arrow';
import { budgets } from '../core/budgets.js';
import type { Column, StoredType } from '../core/types.js';
import { BooleanBuilder, DoubleBuilder, LongBuilder } from './fixed-width-builders.js';
import { Utf8Builder } from './utf8-builder.js';
import { ListBuilder } from './nested-builders.js';
import { convertedToTextWarning } from './cast-scalar.js';
import { isoMicros } from './iso-date.js';
import { type ColumnSpec, type MakeColumn, ObjectColumn } from './object-column.js';
import { codes, firstOfListWarning, listOfOneWarning } from './validation-codes.js';
import {
  type NumberRunBuilder,
  type NumberRunKind,
  type ObjectFields,
  type ObjectRun,
  ValueColumn,
} from './value-column.js';

/** The kinds of values found in a column, as bits. */
const kindBits = { boolean: 1, long: 2, double: 4, text: 8, object: 16, nested: 32 } as const;

/** Objects nested deeper than this are stored as JSON text, because other query engines fail on schemas of more levels. */
const maxLevels = 16;

/**
 * A column whose type is inferred from its values. It stores them as the first type that fits all values so far; integers become doubles
 * when a double comes. If no type fits all kinds of values (such as a number and a text), if a list follows single values, or if values are
 * lists of lists or too deeply nested objects, the column becomes `mixed`: it continues to infer its type, nothing that it stores is used,
 * and the chunk is read again with the types unified over all chunks. Thus, the result does not depend on the order of the values.
 */
export class InferredColumn extends ValueColumn {
  readonly #spec: ColumnSpec;
  readonly #make: MakeColumn;
  #kinds = 0;
  #isMixed = false;
  /** Whether a text is longer than the type `string` allows. */
  #hasLongText = false;
  /** Whether every text so far is a date; false from the beginning if the hint is a `string` column that has values. */
  #areDates = true;
  #builder: BooleanBuilder | LongBuilder | DoubleBuilder | Utf8Builder | null = null;
  #object: ObjectColumn | null = null;
  #list: ListBuilder<InferredColumn> | null = null;
  /** Whether the type of the hint is `json`, so that the column accepts only JSON text. */
  readonly #isJson: boolean;
  /** Whether the declaration, or else the hint, is a list, so that the first value turns this column into a column of lists. */
  #becomesList: boolean;
  /** Whether the field is declared as a list or as a single value; undefined if the values decide. */
  readonly #isList: boolean | undefined;
  /** The row of the current list if the field is declared as a single value and takes the list's first element; -1 outside of a list. */
  #listRow = -1;

  /**
   * `make` creates the columns of members. A hint is the type inferred from other values of the import. The types of these and of the
   * values of this column are unified in any case, so following the hint does not change the unified type.
   */
  constructor(spec: ColumnSpec, make: MakeColumn) {
    super(spec.name, spec.path, spec.context);
    const { hint, isElement, declared } = spec;
    this.#spec = spec;
    this.#make = make;
    this.#isJson = hint?.type === 'json';
    this.#isList = declared?.open === 'type' && !isElement ? declared.isList : undefined;
    this.#becomesList = this.#isList ?? (!isElement && hint?.isList === true);
    this.#areDates = hint?.type !== 'string' || hint.seen === 'null';
  }

  override get storesJson(): boolean {
    return this.#isJson;
  }

  override startNumbers(kind: NumberRunKind): NumberRunBuilder | null {
    const isLong = kind === 'long' || kind === 'integer';
    const allowedKinds = kind === 'boolean' ? 0 : kindBits.long | kindBits.double;
    if (!this.#startRun(isLong ? kindBits.long : kindBits[kind], allowedKinds)) return null;
    if (isLong) this.#builder ??= new LongBuilder(this.#as('long'));
    else if (kind === 'double') this.#becomeDoubles();
    else this.#builder ??= new BooleanBuilder(this.#as('boolean'));
    this.#builder!.padTo(this.length);
    return this.#builder as NumberRunBuilder;
  }

  override startTexts(hasPlain: () => boolean): Utf8Builder | null {
    if (!this.#startRun(kindBits.text)) return null;
    if (this.#areDates && hasPlain()) this.#areDates = false;
    this.#builder ??= new Utf8Builder(this.#as('string'));
    this.#builder.padTo(this.length);
    return this.#builder as Utf8Builder;
  }

  override startObjects(): ObjectRun | null {
    if (this.#spec.depth >= maxLevels || !this.#startRun(kindBits.object)) return null;
    return this.#objects();
  }

  override startLists(): ListBuilder<ValueColumn> | null {
    const isFree = this.#kinds === 0 && !this.#isJson && this.#isList !== false;
    if (!isFree || this.#spec.isElement) return null;
    if (this.#list === null) this.#becomeList();
    this.#list!.padTo(this.length);
    return this.#list;
  }

  column(): Column {
    const common = { name: this.name, physical: this.#spec.physical };
    if (this.#list) {
      const elements = this.#list.items.column();
      const isMixed = this.#isMixed || elements.seen === 'mixed';
      return {
        ...elements,
        isList: elements.type !== 'json',
        ...(isMixed && { seen: 'mixed' }),
      };
    }
    if (this.#kinds === 0)
      return { ...common, type: 'string', isList: this.#isList === true, seen: 'null' };
    const type = this.#type();
    const children = type === 'object' ? this.#object!.column().children! : undefined;
    const isStored = children === undefined || children.some(({ seen }) => seen === undefined);
    return {
      ...common,
      type,
      isList: false,
      ...(children && { children }),
      ...((this.#isMixed || !isStored) && { seen: 'mixed' }),
    };
  }

  addBoolean(value: boolean): void {
    if (this.#becomesList) this.#becomeList();
    if (this.#list) this.#single().addBoolean(value);
    else if (this.#addKind(kindBits.boolean)) {
      this.#builder ??= new BooleanBuilder(this.#as('boolean'));
      this.#builder.padTo(this.length);
      (this.#builder as BooleanBuilder).append(value);
    }
    this.#end();
  }

  addInteger(value: number): void {
    if (this.#becomesList) this.#becomeList();
    if (this.#list) this.#single().addInteger(value);
    else if (this.#addKind(kindBits.long)) {
      this.#builder ??= new LongBuilder(this.#as('long'));
      this.#builder.padTo(this.length);
      (this.#builder as LongBuilder | DoubleBuilder).append(value);
    }
    this.#end();
  }

  addBigint(value: bigint): void {
    if (this.#becomesList) this.#becomeList();
    if (this.#list) this.#single().addBigint(value);
    else if (BigInt.asIntN(64, value) !== value) {
      this.context.warnBeyondLong(this.path, value);
      return this.addDouble(Number(value));
    } else if (this.#addKind(kindBits.long)) {
      this.#builder ??= new LongBuilder(this.#as('long'));
      this.#builder.padTo(this.length);
      if (this.#builder instanceof DoubleBuilder) this.#builder.append(Number(value));
      else (this.#builder as LongBuilder).appendBigint(value);
    }
    this.#end();
  }

  addDouble(value: number): void {
    if (this.#becomesList) this.#becomeList();
    if (this.#list) this.#single().addDouble(value);
    else if (this.#addKind(kindBits.double)) {
      this.#becomeDoubles();
      this.#builder!.padTo(this.length);
      (this.#builder as DoubleBuilder).append(value);
    }
    this.#end();
  }

  addString(bytes: Uint8Array, from: number, to: number): void {
    if (this.#becomesList) this.#becomeList();
    if (this.#list) this.#single().addString(bytes, from, to);
    else if (this.#isJson) {
      this.#kinds = kindBits.nested;
      this.#builder ??= new Utf8Builder(this.#as('json'));
      this.#builder.padTo(this.length);
      (this.#builder as Utf8Builder).appendBytes(bytes, from, to);
    } else {
      if (this.#areDates && isoMicros(bytes, from, to) === undefined) this.#areDates = false;
      if (to - from > budgets.stringBytes && !this.context.isLenient) {
        this.context.warn(codes.stringLength, this.path, convertedToTextWarning(to - from));
        this.#hasLongText = true;
      }
      if (this.#addKind(kindBits.text)) {
        this.#builder ??= new Utf8Builder(this.#as('string'));
        this.#builder.padTo(this.length);
        (this.#builder as Utf8Builder).appendBytes(bytes, from, to);
      }
    }
    this.#end();
  }

  beginObject(): ObjectFields | null {
    if (this.#becomesList) this.#becomeList();
    if (this.#list) {
      const fields = this.#single().beginObject();
      if (fields === null) this.#end();
      return fields;
    }
    if (this.#spec.depth >= maxLevels) this.#kinds |= kindBits.nested;
    if (!this.#addKind(kindBits.object)) {
      this.#end();
      return null;
    }
    return this.#objects().beginObject();
  }

  endObject(): void {
    if (this.#list) this.#list.items.endObject();
    else this.#object!.endObject();
    this.#end();
  }

  beginList(): ValueColumn | null {
    if (this.#spec.isElement || this.#listRow >= 0) {
      this.#addKind(kindBits.nested);
      this.length++;
      return null;
    }
    if (this.#isList === false) {
      this.context.warn(codes.unexpectedList, this.path, firstOfListWarning);
      this.#listRow = this.length;
      return this;
    }
    if (this.#list === null) this.#becomeList();
    this.#list!.padTo(this.length);
    return this.#list!.items;
  }

  endList(): void {
    const from = this.#listRow;
    this.#listRow = -1;
    if (from < 0) this.#end();
    else if (this.length === from) this.appendNull();
    else this.truncate(from + 1);
  }

  override truncate(length: number): void {
    this.#listRow = -1;
    this.#builder?.truncate(length);
    this.#object?.truncate(length);
    this.#list?.truncate(length);
    if (length < this.length) this.length = length;
  }

  finish(length: number): Data {
    if (this.#list) return this.#list.finish(length);
    if (this.#object) return this.#object.finish(length);
    // Only the column of the elements of lists can lack a builder here: all lists have been empty.
    const builder = (this.#builder ??= new Utf8Builder(this.#as('string')));
    const data = builder.finish(length);
    return this.#kinds === kindBits.text && this.#areDates ? this.#toDates(data, length) : data;
  }

  override release(): void {
    this.#builder?.release();
    this.#object?.release();
    this.#list?.release();
  }

  /**
   * Records the kind of a run of values. Returns false, and changes nothing, if the run cannot be stored directly: if the column has
   * values of kinds other than `kind` and `others`, is mixed, accepts only JSON text, or has or becomes lists.
   */
  #startRun(kind: number, others = 0): boolean {
    const isFree = (this.#kinds & ~(kind | others)) === 0 && !this.#isMixed;
    if (!isFree || this.#becomesList || this.#list || this.#isJson) return false;
    this.#kinds |= kind;
    return true;
  }

  /** Returns the column of the objects, padded to the length of this column. */
  #objects(): ObjectColumn {
    const { members: children, depth, hint } = this.#spec;
    this.#object ??= new ObjectColumn({
      column: { ...this.#as('object'), children },
      path: this.path,
      depth,
      context: this.context,
      make: this.#make,
      hints: hint?.children,
    });
    this.#object.padTo(this.length);
    return this.#object;
  }

  /** Records the kind of a value; returns whether a value of this kind can be stored with the other values. */
  #addKind(kind: number): boolean {
    if (this.#kinds === kind) return true;
    this.#kinds |= kind;
    const isOne = this.#kinds === kind || this.#kinds === (kindBits.long | kindBits.double);
    if (!isOne || kind === kindBits.nested) this.#mix();
    return isOne && kind !== kindBits.nested;
  }

  /** Marks the column as mixed, because no builder can store all its values. */
  #mix(): void {
    if (!this.#isMixed) this.context.mixedColumnCount++;
    this.#isMixed = true;
  }

  #type(): StoredType {
    const kinds = this.#kinds;
    if (kinds === kindBits.object) return 'object';
    if (kinds & (kindBits.nested | kindBits.object)) return 'json';
    if (kinds === kindBits.boolean) return 'boolean';
    if (kinds === kindBits.long) return 'long';
    if ((kinds & ~(kindBits.long | kindBits.double)) === 0) return 'double';
    if (this.#hasLongText) return 'text';
    return kinds === kindBits.text && this.#areDates ? 'date' : 'string';
  }

  #as(type: StoredType): Column {
    return { name: this.name, physical: this.#spec.physical, type, isList: false };
  }

  /** Returns the column of the elements, to store a single value as a list of one. */
  #single(): InferredColumn {
    if (this.#isList === true) this.context.warn(codes.listExpected, this.path, listOfOneWarning);
    this.#list!.padTo(this.length);
    return this.#list!.items;
  }

  #end(): void {
    this.#list?.endList();
    this.length++;
  }

  /**
   * Turns the column into a column of lists. The kinds found so far are passed to the column of the elements; values that are already
   * stored require a second pass.
   */
  #becomeList(): void {
    const elements = new InferredColumn({ ...this.#spec, isElement: true }, this.#make);
    this.#becomesList = false;
    elements.#kinds = this.#kinds;
    elements.#areDates = this.#areDates;
    elements.#hasLongText = this.#hasLongText;
    elements.#isMixed = this.#isMixed;
    if (this.#object) {
      elements.#object = this.#object;
      elements.#object.truncate(0);
    }
    if (this.#kinds !== 0) this.#mix();
    // If the values are integers and doubles, all are stored as doubles.
    if (this.#kinds === (kindBits.long | kindBits.double))
      elements.#builder = new DoubleBuilder(this.#as('double'));
    this.#builder?.release();
    this.#builder = null;
    this.#object = null;
    this.#list = new ListBuilder(elements);
  }

  /** Replaces the builder by one of doubles; integers that are already stored become doubles. */
  #becomeDoubles(): void {
    if (this.#builder instanceof LongBuilder) this.#toDoubles(this.#builder);
    this.#builder ??= new DoubleBuilder(this.#as('double'));
  }

  #toDoubles(longs: LongBuilder): void {
    const data = longs.finish(longs.length);
    const doubles = new DoubleBuilder(this.#as('double'));
    for (let i = 0; i < data.length; i++) {
      if (data.getValid(i)) doubles.append(Number((data.values as BigInt64Array)[i]!));
      else doubles.appendNull();
    }
    longs.release();
    this.#builder = doubles;
  }

  #toDates(texts: Data, length: number): Data {
    const dates = new LongBuilder(this.#as('date'));
    const offsets = texts.valueOffsets as Int32Array;
    for (let i = 0; i < length; i++) {
      if (!texts.getValid(i)) dates.appendNull();
      else {
        const micros = isoMicros(texts.values as Uint8Array, offsets[i]!, offsets[i + 1]!)!;
        if (typeof micros === 'bigint') dates.appendBigint(micros);
        else dates.append(micros);
      }
    }
    this.#builder?.release();
    this.#builder = dates;
    return dates.finish(length);
  }
}
