import {
  makeData,
  RecordBatch,
  Schema,
  Struct,
  type Data,
  type DataType,
  type List,
} from 'apache-arrow';
import type { Column, Columns } from '../../core/types.js';
import { arrowSchema, reservedColumns } from '../../store/arrow-columns.js';
import { ByteSink } from '../../parquet/byte-sink.js';
import { writeRawBytes } from './json-bytes.js';
import type { ScalarType } from './convert-leaf-values.js';
import type { LeafValues } from './leaf-values.js';

/** Collects the values of a column. The values of lists and objects are collected by the builders in `childBuilders`. */
export class ResultColumnBuilder {
  readonly column: Column;
  /** The builders of an object's members, in order, or the one of a list's elements; empty for a scalar. */
  readonly childBuilders: readonly ResultColumnBuilder[];
  length = 0;
  #nullCount = 0;
  /** One byte per value: 0 for null. */
  #validFlags = new Uint8Array(initialCapacity);
  /** For lists: the offset of each list's first element, and the end of the last list. */
  #offsets = new Int32Array(initialCapacity);
  readonly #values: ScalarValues | undefined;

  constructor(column: Column) {
    this.column = column;
    const { isList, type, children = [] } = column;
    if (isList) this.childBuilders = [new ResultColumnBuilder({ ...column, isList: false })];
    else
      this.childBuilders =
        type === 'object' ? children.map((child) => new ResultColumnBuilder(child)) : [];
    if (!isList && type !== 'object') this.#values = createScalarValues(type);
  }

  appendNull(): void {
    this.#add(0);
    this.#nullCount++;
    this.#values?.addNull(this.length - 1);
    if (!this.column.isList) for (const member of this.childBuilders) member.appendNull();
  }

  appendScalar(values: LeafValues, i: number): void {
    this.#add(1);
    this.#values!.add(this.length - 1, values, i);
  }

  /** Appends the values at these indexes of `values`; a negative index means null. */
  appendScalars(values: LeafValues, indexes: Int32Array, count: number): void {
    const { length } = this;
    while (length + count > this.#validFlags.length)
      this.#validFlags = doubleLength(this.#validFlags);
    const validFlags = this.#validFlags;
    let nulls = 0;
    for (let i = 0; i < count; i++) {
      const isThere = indexes[i]! >= 0 ? 1 : 0;
      validFlags[length + i] = isThere;
      nulls += 1 - isThere;
    }
    this.#nullCount += nulls;
    this.length = length + count;
    this.#values!.addAll(length, values, indexes, count);
  }

  /** Appends an object or a list whose members or elements have been appended already. */
  appendNested(): void {
    this.#add(1);
  }

  #add(valid: number): void {
    const { length } = this;
    if (length === this.#validFlags.length) this.#validFlags = doubleLength(this.#validFlags);
    this.#validFlags[length] = valid;
    this.length = length + 1;
    if (!this.column.isList) return;
    if (length + 1 === this.#offsets.length) this.#offsets = doubleLength(this.#offsets);
    this.#offsets[length + 1] = this.childBuilders[0]!.length;
  }

  /** Returns the values added so far as the data of an Arrow column of this type. */
  finish(type: DataType): Data {
    const { length, childBuilders } = this;
    const nullCount = this.#nullCount;
    const base = {
      length,
      nullCount,
      nullBitmap: nullCount === 0 ? null : packBits(this.#validFlags, length),
    };
    if (this.column.isList) {
      const child = childBuilders[0]!.finish((type as List).children[0]!.type);
      const valueOffsets = this.#offsets.subarray(0, length + 1);
      return makeData({ ...base, type: type as List, valueOffsets, child });
    }
    if (this.#values !== undefined)
      return makeData({ ...base, type, ...this.#values.finish(length) } as never);
    const children = childBuilders.map((member, i) =>
      member.finish((type as Struct).children[i]!.type as DataType),
    );
    return makeData({ ...base, type: type as Struct, children });
  }
}

/** Returns the record batch of the values in the builders, one builder per column, with these column names. */
export function recordBatch(
  builders: readonly ResultColumnBuilder[],
  length: number,
  names: 'own' | 'physical',
): RecordBatch {
  const { fields } = batchSchema(
    builders.map(({ column }) => column),
    names,
  );
  const children = builders.map((builder, i) => builder.finish(fields[i]!.type as DataType));
  const data = makeData({ type: new Struct(fields), length, nullCount: 0, children });
  return new RecordBatch(new Schema(fields), data);
}

/** Returns the Arrow schema of these columns, with their own or their physical names. */
function batchSchema(columns: Columns, names: 'own' | 'physical'): Schema {
  const namedColumns = names === 'own' ? columns.map(withLogicalNames) : columns;
  return new Schema(arrowSchema(namedColumns).fields.slice(reservedColumns.length));
}

function withLogicalNames(column: Column): Column {
  const { name, children } = column;
  return {
    ...column,
    physical: name,
    ...(children && { children: children.map(withLogicalNames) }),
  };
}

/** The values of a builder of scalars; a null takes a slot, too. */
interface ScalarValues {
  add(at: number, values: LeafValues, i: number): void;
  addNull(at: number): void;
  /** Adds the values at these indexes, to be stored from slot `at` on; a negative index means null. */
  addAll(at: number, values: LeafValues, indexes: Int32Array, count: number): void;
  /**
   * Returns the buffers of the Arrow array of the first `length` values, without the one of nulls: the offsets and bytes of texts, or the
   * values.
   */
  finish(length: number): { readonly data: unknown; readonly valueOffsets?: Int32Array };
}

function createScalarValues(type: ScalarType): ScalarValues {
  switch (type) {
    case 'boolean':
      return new BooleanValues();
    case 'integer':
      return new Int32Values((int32s) => int32s);
    case 'float':
      return new Int32Values(({ buffer, length }) => new Float32Array(buffer, 0, length));
    case 'double':
      return new Int64Values(({ buffer, length }) => new Float64Array(buffer, 0, length / 2));
    case 'long':
    case 'date':
      return new Int64Values(({ buffer, length }) => new BigInt64Array(buffer, 0, length / 2));
    default:
      return new StringValues();
  }
}

class BooleanValues implements ScalarValues {
  #flags = new Uint8Array(initialCapacity);

  add(at: number, { byteValues }: LeafValues, i: number): void {
    this.#set(at, byteValues[i]!);
  }

  addNull(at: number): void {
    this.#set(at, 0);
  }

  addAll(at: number, { byteValues: data }: LeafValues, indexes: Int32Array, count: number): void {
    while (at + count > this.#flags.length) this.#flags = doubleLength(this.#flags);
    const flags = this.#flags;
    for (let i = 0; i < count; i++) flags[at + i] = indexes[i]! < 0 ? 0 : data[indexes[i]!]!;
  }

  #set(at: number, flag: number): void {
    if (at === this.#flags.length) this.#flags = doubleLength(this.#flags);
    this.#flags[at] = flag;
  }

  finish(length: number): { readonly data: unknown } {
    return { data: packBits(this.#flags, length) };
  }
}

class Int32Values implements ScalarValues {
  #int32s = new Int32Array(initialCapacity);
  readonly #view: (int32s: Int32Array) => Int32Array | Float32Array;

  constructor(view: (int32s: Int32Array) => Int32Array | Float32Array) {
    this.#view = view;
  }

  add(at: number, { int32s }: LeafValues, i: number): void {
    this.#set(at, int32s[i]!);
  }

  addNull(at: number): void {
    this.#set(at, 0);
  }

  addAll(at: number, { int32s }: LeafValues, indexes: Int32Array, count: number): void {
    while (at + count > this.#int32s.length) this.#int32s = doubleLength(this.#int32s);
    const target = this.#int32s;
    for (let i = 0; i < count; i++) target[at + i] = indexes[i]! < 0 ? 0 : int32s[indexes[i]!]!;
  }

  #set(at: number, value: number): void {
    if (at === this.#int32s.length) this.#int32s = doubleLength(this.#int32s);
    this.#int32s[at] = value;
  }

  finish(length: number): { readonly data: unknown } {
    return { data: this.#view(this.#int32s).subarray(0, length) };
  }
}

/** Collects 64-bit values as low and high halves. */
class Int64Values implements ScalarValues {
  #pairs = new Int32Array(2 * initialCapacity);
  readonly #view: (pairs: Int32Array) => Float64Array | BigInt64Array;

  constructor(view: (pairs: Int32Array) => Float64Array | BigInt64Array) {
    this.#view = view;
  }

  add(at: number, { int32s }: LeafValues, i: number): void {
    this.#set(at, int32s[2 * i]!, int32s[2 * i + 1]!);
  }

  addNull(at: number): void {
    this.#set(at, 0, 0);
  }

  addAll(at: number, { int32s }: LeafValues, indexes: Int32Array, count: number): void {
    while (2 * (at + count) > this.#pairs.length) this.#pairs = doubleLength(this.#pairs);
    const target = this.#pairs;
    for (let i = 0; i < count; i++) {
      const from = 2 * indexes[i]!;
      const to = 2 * (at + i);
      target[to] = from < 0 ? 0 : int32s[from]!;
      target[to + 1] = from < 0 ? 0 : int32s[from + 1]!;
    }
  }

  #set(at: number, low: number, high: number): void {
    if (2 * at === this.#pairs.length) this.#pairs = doubleLength(this.#pairs);
    this.#pairs[2 * at] = low;
    this.#pairs[2 * at + 1] = high;
  }

  finish(length: number): { readonly data: unknown } {
    return { data: this.#view(this.#pairs).subarray(0, length) };
  }
}

class StringValues implements ScalarValues {
  #ends = new Int32Array(initialCapacity);
  readonly #out = new ByteSink(1024);

  add(at: number, { byteValues, int32s, gapBytes }: LeafValues, i: number): void {
    writeRawBytes(this.#out, byteValues, int32s[i]!, int32s[i + 1]! - gapBytes);
    this.addNull(at);
  }

  addNull(at: number): void {
    if (at + 1 === this.#ends.length) this.#ends = doubleLength(this.#ends);
    this.#ends[at + 1] = this.#out.endOffset;
  }

  addAll(
    at: number,
    { byteValues, int32s, gapBytes }: LeafValues,
    indexes: Int32Array,
    count: number,
  ): void {
    while (at + count >= this.#ends.length) this.#ends = doubleLength(this.#ends);
    const ends = this.#ends;
    const out = this.#out;
    let size = 0;
    for (let i = 0; i < count; i++) {
      const index = indexes[i]!;
      if (index >= 0) size += int32s[index + 1]! - gapBytes - int32s[index]!;
    }
    out.reserve(size);
    const { bytes } = out;
    let { endOffset } = out;
    for (let i = 0; i < count; i++) {
      const index = indexes[i]!;
      if (index >= 0) {
        const to = int32s[index + 1]! - gapBytes;
        for (let from = int32s[index]!; from < to; from++) bytes[endOffset++] = byteValues[from]!;
      }
      ends[at + i + 1] = endOffset;
    }
    out.endOffset = endOffset;
  }

  finish(length: number): { readonly data: unknown; readonly valueOffsets: Int32Array } {
    const data = this.#out.writtenBytes().slice();
    this.#out.release();
    return { data, valueOffsets: this.#ends.subarray(0, length + 1) };
  }
}

const initialCapacity = 64;

function doubleLength<T extends Uint8Array | Int32Array>(array: T): T {
  const wider = new (array.constructor as new (length: number) => T)(2 * array.length);
  wider.set(array);
  return wider;
}

/** Converts flags of one byte each to a bitmap, whose lowest bit comes first and which is padded to a multiple of 64 bits. */
function packBits(flags: Uint8Array, length: number): Uint8Array {
  const bits = new Uint8Array(Math.ceil(length / 64) * 8);
  for (let i = 0; i < length; i++) bits[i >> 3]! |= flags[i]! << (i & 7);
  return bits;
}
