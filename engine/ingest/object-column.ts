import { Field, makeData, Struct, type Data } from 'apache-arrow';
import { budgets } from '../core/budgets.js';
import type { Column, Columns } from '../core/types.js';
import { growBitmap } from '../core/buffers.js';
import { DiscardedColumn } from './discarded-column.js';
import { PhysicalNames, reservedNames } from './physical-names.js';
import type { RecordContext } from './record-context.js';
import { type ObjectFields, type ObjectRun, ValueColumn } from './value-column.js';
import { codes } from './validation-codes.js';

/** Advice for an import with too many fields. */
export const fewerFieldsAdvice =
  'split the data over several imports, or store keys that differ between records as a list of objects with a key and a value';

/** The properties from which a column is made. */
export interface ColumnSpec {
  readonly name: string;
  /** The name of the column in Parquet. */
  readonly physical: string;
  /** The dotted name, for messages. */
  readonly path: string;
  /** The number of objects around the field: 0 for the fields of a record. */
  readonly depth: number;
  readonly context: RecordContext;
  /** The declaration of the field: values are cast to its type, unless `Column.open` leaves the type to the values. */
  readonly declared: Column | undefined;
  /** Members with a declared type, for a field that may turn out to hold objects. */
  readonly members: Columns;
  /** The column of the same field as other values suggest it, for example those of earlier chunks. */
  readonly hint: Column | undefined;
  /** Whether the column holds the elements of a list. */
  readonly isElement: boolean;
}

/** Makes the column of a field. */
export type MakeColumn = (spec: ColumnSpec) => ValueColumn;

interface FieldOptions {
  readonly declared: Columns;
  readonly context: RecordContext;
  /** The path of the object followed by a dot; empty for the fields of a record. */
  readonly prefix: string;
  /** The number of objects around the fields: 0 for the fields of a record. */
  readonly depth: number;
  readonly make: MakeColumn;
  readonly onNew?: (column: ValueColumn) => void;
  readonly hints: Columns;
}

/** The columns of the members of an object, or of the fields of a record, created on first use. */
export class FieldColumns implements ObjectFields {
  row = 0;
  firstField: ValueColumn | null = null;
  readonly columns: ValueColumn[] = [];
  readonly #byName = new Map<string, ValueColumn>();
  readonly #declared: ReadonlyMap<string, Column>;
  readonly #physicalNames: PhysicalNames;
  readonly #hints: ReadonlyMap<string, Column>;
  readonly #options: FieldOptions;

  constructor(options: FieldOptions) {
    const { declared, depth, hints } = options;
    this.#options = options;
    this.#hints = new Map(hints.map((column) => [column.name, column]));
    this.#declared = new Map(declared.map((column) => [column.name, column]));
    this.#physicalNames = new PhysicalNames(
      declared.map((column) => column.physical),
      depth === 0,
    );
  }

  field(name: string): ValueColumn | null {
    return this.#byName.get(name) ?? this.#add(name);
  }

  /** Creates the columns of those declared fields that occurred in no record. */
  addDeclared(): void {
    for (const name of this.#declared.keys()) this.field(name);
  }

  truncate(length: number): void {
    for (const column of this.columns) column.truncate(length);
  }

  #add(name: string): ValueColumn | null {
    const { context, prefix, depth, make, onNew } = this.#options;
    const declared = this.#declared.get(name);
    const path = prefix + name;
    if (declared === undefined && ++context.newFieldCount > budgets.columnsPerImport) {
      context.reject(
        codes.tooManyColumns,
        null,
        `the record brings one more new field than the ${budgets.columnsPerImport} that an import may add: ${fewerFieldsAdvice}`,
      );
      return null;
    }
    if (depth === 0 && declared === undefined && reservedNames.includes(name)) {
      const discarded = new DiscardedColumn(name, path, context);
      this.#byName.set(name, discarded);
      return discarded;
    }
    const column = make({
      name,
      physical: declared?.physical ?? this.#physicalNames.add(name),
      path,
      depth,
      context,
      declared,
      members: declared?.children ?? [],
      hint: this.#hints.get(name),
      isElement: false,
    });
    this.#byName.set(name, column);
    this.columns.push(column);
    onNew?.(column);
    return column;
  }
}

/** A column of objects, stored as a struct of the columns of its members. */
export class ObjectColumn extends ValueColumn implements ObjectRun {
  readonly fields: FieldColumns;
  readonly #column: Column;
  #hasObjects = false;
  /** A bitmap with 1 for each row that has an object. */
  #present: Uint8Array = new Uint8Array(128);
  /** The row of the current list if its first element becomes the value of the field; -1 outside of a list. */
  #listRow = -1;

  constructor(options: {
    readonly column: Column;
    readonly path: string;
    readonly depth: number;
    readonly context: RecordContext;
    readonly make: MakeColumn;
    readonly hints?: Columns | undefined;
  }) {
    const { column, path, depth, context, make, hints = [] } = options;
    super(column.name, path, context);
    const { open: _, ...closed } = column;
    this.#column = closed;
    this.fields = new FieldColumns({
      declared: column.children ?? [],
      context,
      prefix: `${path}.`,
      depth: depth + 1,
      make,
      hints,
    });
  }

  column(): Column {
    let children = this.fields.columns.map((child) => child.column());
    // Parquet has no struct without members, so a column of objects none of whose members would be stored gets its declared members.
    if (children.every(({ seen }) => seen !== undefined)) {
      this.fields.addDeclared();
      children = this.fields.columns.map((child) => child.column());
    }
    const isStored = children.some(({ seen }) => seen === undefined);
    const seen = this.#hasObjects ? 'mixed' : 'null';
    return { ...this.#column, children, ...(!isStored && { seen }) };
  }

  addBoolean(value: boolean): void {
    this.#refuse(String(value));
  }
  addInteger(value: number): void {
    this.#refuse(String(value));
  }
  addBigint(value: bigint): void {
    this.#refuse(String(value));
  }
  addDouble(value: number): void {
    this.#refuse(String(value));
  }
  addString(): void {
    this.#refuse('a string');
  }

  #refuse(found: string): void {
    this.context.rejectUnlessLenient(codes.invalidValue, this.path, `${found} is not an object`);
    this.appendNull();
  }

  beginObject(): ObjectFields {
    this.fields.row = this.length;
    return this.fields;
  }

  override startObjects(): ObjectRun {
    return this;
  }

  endObjects(count: number, isPresent: (i: number) => boolean): void {
    for (let i = 0; i < count; i++)
      if (isPresent(i)) this.endObject();
      else this.appendNull();
  }

  endObject(): void {
    this.#hasObjects = true;
    const byte = this.length >> 3;
    if (byte >= this.#present.length) this.#present = growBitmap(this.#present, byte + 1);
    this.#present[byte]! |= 1 << (this.length & 7);
    this.length++;
  }

  beginList(): ValueColumn | null {
    if (this.#listRow >= 0) {
      this.#refuse('a list in a list');
      return null;
    }
    this.context.warn(
      codes.unexpectedList,
      this.path,
      'a list where one object is expected: its first is stored',
    );
    this.#listRow = this.length;
    return this;
  }

  endList(): void {
    const from = this.#listRow;
    this.#listRow = -1;
    if (this.length === from) this.appendNull();
    else this.truncate(from + 1);
  }

  override truncate(length: number): void {
    this.#listRow = -1;
    for (let i = length; i < this.length; i++) {
      if (i >> 3 < this.#present.length) this.#present[i >> 3]! &= ~(1 << (i & 7));
    }
    if (length < this.length) this.length = length;
    this.fields.truncate(length);
  }

  override release(): void {
    for (const field of this.fields.columns) field.release();
  }

  finish(length: number): Data {
    const children: Data[] = [];
    const fields: Field[] = [];
    for (const child of this.fields.columns) {
      const { physical, seen } = child.column();
      if (seen !== undefined) continue;
      const data = child.finish(length);
      children.push(data);
      fields.push(new Field(physical, data.type, true));
    }
    const bytes = (length + 7) >> 3;
    const present = this.#present.length < bytes ? growBitmap(this.#present, bytes) : this.#present;
    return makeData({
      type: new Struct(fields),
      length,
      nullCount: length - countBits(present, length),
      nullBitmap: present.subarray(0, bytes),
      children,
    });
  }
}

function countBits(bits: Uint8Array, length: number): number {
  let count = 0;
  for (let i = 0; i < length; i++) count += (bits[i >> 3]! >> (i & 7)) & 1;
  return count;
}
