import { Field, makeData, Struct, type Data } from 'apache-arrow';
import { budgets } from '../core/budgets.js';
import type { Column, Columns } from '../core/types.js';
import { grownBits } from '../core/buffers.js';
import { DynamicColumn } from './inferred-column.js';
import { DroppedColumn } from './discarded-column.js';
import { PhysicalNames, reservedNames } from './physical-names.js';
import { typedColumn } from './typed-column.js';
import { type Recording, ValueColumn } from './value-column.js';

/** Makes the column of a field that no one has given a type. */
export type MakeColumn = (
  name: string,
  physical: string,
  path: string,
  depth: number,
  recording: Recording,
  /** Members that have a type, if it comes to hold objects. */
  members?: Columns,
  /** What the column has come to elsewhere. */
  hint?: Column,
) => ValueColumn;

const makeDynamic: MakeColumn = (name, physical, path, depth, recording, members, hint) =>
  new DynamicColumn(name, physical, path, depth, recording, false, members, hint);

/** The members of an object, or the fields of a record: given ones with their types, others as they come. */
export class ObjectFields {
  /** The row that is being filled. */
  row = 0;
  /** The field that came first last time. */
  first: ValueColumn | null = null;
  readonly columns: ValueColumn[] = [];
  readonly #byName = new Map<string, ValueColumn>();
  readonly #given: ReadonlyMap<string, Column>;
  readonly #names: PhysicalNames;
  readonly #recording: Recording;
  readonly #prefix: string;
  readonly #depth: number;
  readonly #onNew: (column: ValueColumn) => void;
  readonly #make: MakeColumn;
  readonly #hints: ReadonlyMap<string, Column>;

  /**
   * `depth` is 0 for the fields of a record; `make` is for formats whose values have a type from the start. `hints`: what fields
   * have come to in values that count as well as those to come, to store them as that at once.
   */
  constructor(
    given: Columns,
    recording: Recording,
    prefix: string,
    depth: number,
    onNew: (column: ValueColumn) => void = () => {},
    make: MakeColumn = makeDynamic,
    hints: Columns = [],
  ) {
    this.#hints = new Map(hints.map((column) => [column.name, column]));
    this.#given = new Map(given.map((column) => [column.name, column]));
    this.#names = new PhysicalNames(
      given.map((column) => column.physical),
      depth === 0,
    );
    this.#recording = recording;
    this.#prefix = prefix;
    this.#depth = depth;
    this.#onNew = onNew;
    this.#make = make;
  }

  /** The field of that name, made when first met; null when there are too many (the record has failed then). */
  field(name: string): ValueColumn | null {
    return this.#byName.get(name) ?? this.#add(name);
  }

  /** Makes the given fields that no value has asked for. */
  addGiven(): void {
    for (const name of this.#given.keys()) this.field(name);
  }

  truncate(length: number): void {
    for (const column of this.columns) column.truncate(length);
  }

  #add(name: string): ValueColumn | null {
    const given = this.#given.get(name);
    const path = this.#prefix + name;
    if (given === undefined && ++this.#recording.found > budgets.columnsPerImport) {
      this.#recording.reject(
        400,
        null,
        `more than ${budgets.columnsPerImport} different fields (budget columnsPerImport)`,
      );
      return null;
    }
    if (this.#depth === 0 && reservedNames.includes(name)) {
      const dropped = new DroppedColumn(name, path, this.#recording);
      this.#byName.set(name, dropped);
      return dropped;
    }
    const column =
      given && !given.isOpen
        ? typedColumn(given, path, this.#depth, this.#recording)
        : this.#make(
            name,
            given?.physical ?? this.#names.give(name),
            path,
            this.#depth,
            this.#recording,
            given?.children,
            this.#hints.get(name),
          );
    this.#byName.set(name, column);
    this.columns.push(column);
    this.#onNew(column);
    return column;
  }
}

/** An object column: a struct of its fields. */
export class ObjectColumn extends ValueColumn {
  readonly fields: ObjectFields;
  readonly #column: Column;
  /** One bit per row that holds an object. */
  #present: Uint8Array = new Uint8Array(128);
  /** Where a list began whose first element is to be the value; -1 outside one. */
  #listFrom = -1;

  constructor(
    column: Column,
    path: string,
    depth: number,
    recording: Recording,
    make: MakeColumn = makeDynamic,
    hints: Columns = [],
  ) {
    super(column.name, path, recording);
    const { isOpen: _, ...closed } = column;
    this.#column = closed;
    this.fields = new ObjectFields(
      column.children ?? [],
      recording,
      `${path}.`,
      depth + 1,
      () => {},
      make,
      hints,
    );
  }

  column(): Column {
    let children = this.fields.columns.map((child) => child.column());
    // Parquet has no struct without members.
    if (children.every(({ seen }) => seen !== undefined)) {
      this.fields.addGiven();
      children = this.fields.columns.map((child) => child.column());
    }
    return { ...this.#column, children };
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
  addText(): void {
    this.#refuse('a text');
  }

  #refuse(found: string): void {
    this.recording.fault(301, this.path, `${found} is not an object`);
    this.appendNull();
  }

  beginObject(): ObjectFields {
    this.fields.row = this.length;
    return this.fields;
  }

  endObject(): void {
    const byte = this.length >> 3;
    if (byte >= this.#present.length) this.#present = grownBits(this.#present, byte + 1);
    this.#present[byte]! |= 1 << (this.length & 7);
    this.length++;
  }

  beginList(): ValueColumn | null {
    if (this.#listFrom >= 0) {
      this.#refuse('a list in a list');
      return null;
    }
    this.recording.warn(303, this.path, 'a list where one object is expected: its first is taken');
    this.#listFrom = this.length;
    return this;
  }

  endList(): void {
    const from = this.#listFrom;
    this.#listFrom = -1;
    if (this.length === from) this.appendNull();
    else this.truncate(from + 1);
  }

  override truncate(length: number): void {
    this.#listFrom = -1;
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
    const present = this.#present.length < bytes ? grownBits(this.#present, bytes) : this.#present;
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
