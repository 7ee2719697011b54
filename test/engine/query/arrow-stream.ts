import {
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  type Data,
  type DataType,
  type List,
} from 'apache-arrow';
import { arrowSchema, reservedColumns } from '../../../engine/store/arrow.js';
import type { Column, Columns } from '../../../engine/core/types.js';

/** An Arrow IPC stream of one batch, under the fields' own names. Uncompressed: others misread what apache-arrow compresses. */
export function arrowStream(columns: Columns, rows: readonly (readonly unknown[])[]): Uint8Array {
  const fields = arrowSchema(columns.map(renameColumn)).fields.slice(reservedColumns.length);
  const children = fields.map((field, index) =>
    encode(
      field.type as DataType,
      columns[index]!,
      rows.map((row) => row[index]),
    ),
  );
  const schema = new Schema(fields);
  const data = makeData({ type: new Struct(fields), length: rows.length, nullCount: 0, children });
  return RecordBatchStreamWriter.writeAll([new RecordBatch(schema, data)]).toUint8Array(true);
}

function renameColumn(column: Column): Column {
  const { name, children } = column;
  return { ...column, physical: name, ...(children && { children: children.map(renameColumn) }) };
}

/**
 * The Arrow data of a column from the engine's values. Written out by hand, because the builders of apache-arrow take dates in
 * milliseconds, and ours are exact to the microsecond.
 */
function encode(type: DataType, column: Column, values: readonly unknown[]): Data {
  const length = values.length;
  const { nullBitmap, nullCount } = validity(values);
  const base = { length, nullCount, nullBitmap };
  if (column.isList) {
    const lists = values.map((value) =>
      value ? (value as { items: readonly unknown[] }).items : [],
    );
    const valueOffsets = offsets(lists.map((list) => list.length));
    const child = encode(
      (type as List).children[0]!.type,
      { ...column, isList: false },
      lists.flat(),
    );
    return makeData({ ...base, type: type as List, valueOffsets, child });
  }
  if (column.type === 'object') {
    const objects = values.map((value) => (value ? (value as { entries: Entries }).entries : {}));
    const children = (column.children ?? []).map((child, index) =>
      encode(
        (type as Struct).children[index]!.type as DataType,
        child,
        objects.map((entries) =>
          Object.hasOwn(entries, child.physical) ? entries[child.physical] : null,
        ),
      ),
    );
    return makeData({ ...base, type: type as Struct, children });
  }
  return scalars[column.type](type, base, values);
}

type Entries = Readonly<Record<string, unknown>>;
interface Base {
  readonly length: number;
  readonly nullCount: number;
  readonly nullBitmap: Uint8Array;
}
type Encode = (type: DataType, base: Base, values: readonly unknown[]) => Data;

const utf8: Encode = (type, base, values) => {
  const texts = values.map((value) => Buffer.from((value as string | null) ?? ''));
  const valueOffsets = offsets(texts.map((text) => text.length));
  return makeData({ ...base, type, valueOffsets, data: Buffer.concat(texts) } as never);
};
const longs =
  (bigintOf: (value: unknown) => bigint): Encode =>
  (type, base, values) =>
    makeData({
      ...base,
      type,
      data: BigInt64Array.from(values, (value) => (value === null ? 0n : bigintOf(value))),
    } as never);
const numbers =
  (build: { from(values: readonly number[]): ArrayBufferView }): Encode =>
  (type, base, values) =>
    makeData({
      ...base,
      type,
      data: build.from(values.map((value) => (value as number | null) ?? 0)),
    } as never);

const scalars: Readonly<Record<Exclude<Column['type'], 'object'>, Encode>> = {
  boolean: (type, base, values) =>
    makeData({ ...base, type, data: bits(values.map((value) => value === true)) } as never),
  date: longs((value) => (value as { micros: bigint }).micros),
  double: numbers(Float64Array),
  float: numbers(Float32Array),
  integer: numbers(Int32Array),
  long: longs((value) => value as bigint),
  string: utf8,
  text: utf8,
  blob: utf8,
  json: utf8,
};

function validity(values: readonly unknown[]): { nullBitmap: Uint8Array; nullCount: number } {
  const isPresent = values.map((value) => value !== null && value !== undefined);
  return { nullBitmap: bits(isPresent), nullCount: isPresent.filter((is) => !is).length };
}

function bits(values: readonly boolean[]): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(values.length / 64) * 8);
  values.forEach((value, index) => {
    if (value) bytes[index >> 3]! |= 1 << (index & 7);
  });
  return bytes;
}

function offsets(lengths: readonly number[]): Int32Array {
  const ends = new Int32Array(lengths.length + 1);
  lengths.forEach((length, index) => {
    ends[index + 1] = ends[index]! + length;
  });
  return ends;
}
