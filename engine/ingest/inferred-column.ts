import type { Data } from 'apache-arrow';
import { budgets } from '../core/budgets.js';
import type { Column, Columns, StoredType } from '../core/types.js';
import { BooleanBuilder, DoubleBuilder, LongBuilder, Utf8Builder } from './builders.js';
import { ListBuilder } from './nested-builders.js';
import { isoMicros } from './iso-date.js';
import { ObjectColumn, type ObjectFields } from './object-column.js';
import { type Recording, ValueColumn } from './value-column.js';

/** The kinds of values that a column has met, as bits. */
const kinds = { boolean: 1, long: 2, double: 4, text: 8, object: 16, nested: 32 } as const;

/** Objects nested deeper than this are kept as JSON text: schemas of more levels break other engines. */
const maxLevels = 16;

/**
 * A column whose type is found from its values. It stores them as the type that has fitted so far, longs becoming doubles on
 * the way. When kinds meet that share no such store (a number and a text, a value and a list), the column only goes on
 * finding its type: it comes out marked `mixed`, and the chunk is read a second time with the columns that all chunks came to.
 * So nothing is ever converted from a lossy form, and the outcome does not depend on the order of values.
 */
export class DynamicColumn extends ValueColumn {
  readonly #physical: string;
  readonly #depth: number;
  #kinds = 0;
  #isMixed = false;
  #areDates = true;
  #store: BooleanBuilder | LongBuilder | DoubleBuilder | Utf8Builder | null = null;
  #object: ObjectColumn | null = null;
  #list: ListBuilder<DynamicColumn> | null = null;
  readonly #isItem: boolean;
  readonly #members: Columns;
  readonly #hint: Column | undefined;
  /** The hint says that it comes to be JSON text: it takes nothing else. */
  readonly #isJson: boolean;
  /** The hint says that it comes to hold lists: it does from its first value on. */
  #becomesList: boolean;

  /**
   * `isItem`: this column holds the elements of a list, so that a list here is a list in a list. `members` have their types,
   * if it comes to hold objects. `hint` is what it has come to in values that count as well as its own (others of the chunk or of
   * the chunks before): so what its own make of it changes nothing about what the import comes to.
   */
  constructor(
    name: string,
    physical: string,
    path: string,
    depth: number,
    recording: Recording,
    isItem = false,
    members: Columns = [],
    hint?: Column,
  ) {
    super(name, path, recording);
    this.#physical = physical;
    this.#depth = depth;
    this.#isItem = isItem;
    this.#members = members;
    this.#hint = hint;
    this.#isJson = hint?.type === 'json';
    this.#becomesList = !isItem && hint?.isList === true;
    this.#areDates = hint?.type !== 'string' || hint.seen === 'null';
  }

  override get takesJson(): boolean {
    return this.#isJson;
  }

  column(): Column {
    const common = { name: this.name, physical: this.#physical };
    if (this.#list) {
      const items = this.#list.items.column();
      const isMixed = this.#isMixed || items.seen === 'mixed';
      return {
        ...items,
        isList: items.type !== 'json',
        ...(isMixed && { seen: 'mixed' }),
      };
    }
    if (this.#kinds === 0) return { ...common, type: 'string', isList: false, seen: 'null' };
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
    if (this.#list) this.#single().addBoolean(value);
    else if (this.#meet(kinds.boolean)) {
      this.#store ??= new BooleanBuilder(this.#as('boolean'));
      this.#store.padTo(this.length);
      (this.#store as BooleanBuilder).append(value);
    }
    this.#end();
  }

  addInteger(value: number): void {
    if (this.#list) this.#single().addInteger(value);
    else if (this.#meet(kinds.long)) {
      this.#store ??= new LongBuilder(this.#as('long'));
      this.#store.padTo(this.length);
      (this.#store as LongBuilder | DoubleBuilder).append(value);
    }
    this.#end();
  }

  addBigint(value: bigint): void {
    if (this.#list) this.#single().addBigint(value);
    else if (this.#meet(kinds.long)) {
      this.#store ??= new LongBuilder(this.#as('long'));
      this.#store.padTo(this.length);
      if (this.#store instanceof DoubleBuilder) this.#store.append(Number(value));
      else if (BigInt.asIntN(64, value) === value) (this.#store as LongBuilder).appendBigint(value);
      // No long: the second pass says so, unless the column turns out to be a double or a string.
      else this.#isMixed = true;
    }
    this.#end();
  }

  addDouble(value: number): void {
    if (this.#list) this.#single().addDouble(value);
    else if (this.#meet(kinds.double)) {
      if (this.#store instanceof LongBuilder) this.#toDoubles(this.#store);
      this.#store ??= new DoubleBuilder(this.#as('double'));
      this.#store.padTo(this.length);
      (this.#store as DoubleBuilder).append(value);
    }
    this.#end();
  }

  addText(bytes: Uint8Array, from: number, to: number): void {
    if (this.#becomesList) this.#becomeList();
    if (this.#list) this.#single().addText(bytes, from, to);
    else if (this.#isJson) {
      this.#kinds = kinds.nested;
      this.#store ??= new Utf8Builder(this.#as('json'));
      this.#store.padTo(this.length);
      (this.#store as Utf8Builder).appendBytes(bytes, from, to);
    } else {
      if (this.#areDates && isoMicros(bytes, from, to) === undefined) this.#areDates = false;
      // Too long for a string: the second pass says so, unless the column turns out to be something else.
      if (to - from > budgets.stringBytes && !this.recording.isLenient) this.#isMixed = true;
      if (this.#meet(kinds.text)) {
        this.#store ??= new Utf8Builder(this.#as('string'));
        this.#store.padTo(this.length);
        (this.#store as Utf8Builder).appendBytes(bytes, from, to);
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
    if (this.#depth >= maxLevels) this.#kinds |= kinds.nested;
    if (!this.#meet(kinds.object)) {
      this.#end();
      return null;
    }
    const children = this.#members;
    this.#object ??= new ObjectColumn(
      { ...this.#as('object'), children },
      this.path,
      this.#depth,
      this.recording,
      undefined,
      this.#hint?.children,
    );
    this.#object.padTo(this.length);
    return this.#object.beginObject();
  }

  endObject(): void {
    if (this.#list) this.#list.items.endObject();
    else this.#object!.endObject();
    this.#end();
  }

  beginList(): ValueColumn | null {
    if (this.#isItem) {
      this.#meet(kinds.nested);
      this.length++;
      return null;
    }
    if (this.#list === null) this.#becomeList();
    this.#list!.padTo(this.length);
    return this.#list!.items;
  }

  endList(): void {
    this.#end();
  }

  override truncate(length: number): void {
    this.#store?.truncate(length);
    this.#object?.truncate(length);
    this.#list?.truncate(length);
    if (length < this.length) this.length = length;
  }

  finish(length: number): Data {
    if (this.#list) return this.#list.finish(length);
    if (this.#object) return this.#object.finish(length);
    // Only the elements of lists that were all empty come here without a store.
    const store = this.#store ?? new Utf8Builder(this.#as('string'));
    const data = store.finish(length);
    return this.#kinds === kinds.text && this.#areDates ? this.#toDates(data, length) : data;
  }

  /** Notes a kind; false when its values can no longer be stored beside the others. */
  #meet(kind: number): boolean {
    if (this.#kinds === kind) return true;
    this.#kinds |= kind;
    const isOne = this.#kinds === kind || this.#kinds === (kinds.long | kinds.double);
    if (!isOne || kind === kinds.nested) this.#mix();
    return isOne && kind !== kinds.nested;
  }

  /** The values share no store: a hint would have told. */
  #mix(): void {
    if (!this.#isMixed) this.recording.mixed++;
    this.#isMixed = true;
  }

  #type(): StoredType {
    const met = this.#kinds;
    if (met === kinds.object) return 'object';
    if (met & (kinds.nested | kinds.object)) return 'json';
    if (met === kinds.boolean) return 'boolean';
    if (met === kinds.long) return 'long';
    if ((met & ~(kinds.long | kinds.double)) === 0) return 'double';
    return met === kinds.text && this.#areDates ? 'date' : 'string';
  }

  #as(type: StoredType): Column {
    return { name: this.name, physical: this.#physical, type, isList: false };
  }

  /** The elements' column, ready for a value that stands alone: a list of one. */
  #single(): DynamicColumn {
    this.#list!.padTo(this.length);
    return this.#list!.items;
  }

  #end(): void {
    this.#list?.endList();
    this.length++;
  }

  /** What was found so far is handed to the elements' column; values already stored wait for the second pass. */
  #becomeList(): void {
    const { name, path, recording } = this;
    const items = new DynamicColumn(
      name,
      this.#physical,
      path,
      this.#depth,
      recording,
      true,
      this.#members,
      this.#hint,
    );
    this.#becomesList = false;
    items.#kinds = this.#kinds;
    items.#areDates = this.#areDates;
    items.#isMixed = this.#isMixed;
    if (this.#object) {
      items.#object = this.#object;
      items.#object.truncate(0);
    }
    if (this.#kinds !== 0) this.#mix();
    // The store of the elements must be of the kind that was met.
    if (this.#kinds === (kinds.long | kinds.double))
      items.#store = new DoubleBuilder(this.#as('double'));
    this.#store = null;
    this.#object = null;
    this.#list = new ListBuilder(items);
  }

  #toDoubles(longs: LongBuilder): void {
    const data = longs.finish(longs.length);
    const doubles = new DoubleBuilder(this.#as('double'));
    for (let i = 0; i < data.length; i++) {
      if (data.getValid(i)) doubles.append(Number((data.values as BigInt64Array)[i]!));
      else doubles.appendNull();
    }
    this.#store = doubles;
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
    return dates.finish(length);
  }
}
