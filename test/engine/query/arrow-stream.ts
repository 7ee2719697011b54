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
import { arrowSchema, reservedColumns } from '../../../engine/store/arrow-columns.js';
import type { Column, Columns } from '../../../engine/core/types.js';

/**
 * Returns an Arrow IPC stream of one batch, with the fields' own names. It is uncompressed, because other libraries misread what
 * apache-arrow compresses.
 */
export function arrowStream(columns: Columns, rows: readonly (readonly unknown[])[]): Uint8Array {
  const fields = arrowSchema(columns.map(useNameAsPhysical)).fields.slice(reservedColumns.length);
  const children = fields.map((field, index) =>
    encodeColumn(
      field.type as DataType,
      columns[index]!,
      rows.map((row) => row[index]),
    ),
  );
  const schema = new Schema(fields);
  const data = makeData({ type: new Struct(fields), length: rows.length, nullCount: 0, children });
  return RecordBatchStreamWriter.writeAll([new RecordBatch(schema, data)]).toUint8Array(true);
}

function useNameAsPhysical(column: Column): Column {
  const { name, children } = column;
  return {
    ...column,
    physical: name,
    ...(children && { children: children.map(useNameAsPhysical) }),
  };
}

/**
 * Returns the Arrow data of a column, built from values in the form in which the engine returns them. The builders of apache-arrow are not
 * used, because they expect dates in milliseconds and Strandlake's dates have microseconds.
 */
function encodeColumn(type: DataType, column: Column, values: readonly unknown[]): Data {
  const length = values.length;
  const { nullBitmap, nullCount } = validityBitmap(values);
  const base = { length, nullCount, nullBitmap };
  if (column.isList) {
    const lists = values.map((value) =>
      value ? (value as { items: readonly unknown[] }).items : [],
    );
    const valueOffsets = offsetsOfLengths(lists.map((list) => list.length));
    const child = encodeColumn(
      (type as List).children[0]!.type,
      { ...column, isList: false },
      lists.flat(),
    );
    return makeData({ ...base, type: type as List, valueOffsets, child });
  }
  if (column.type === 'object') {
    const objects = values.map((value) =>
      value ? (value as { entries: MemberValues }).entries : {},
    );
    const children = (column.children ?? []).map((child, index) =>
      encodeColumn(
        (type as Struct).children[index]!.type as DataType,
        child,
        objects.map((entries) =>
          Object.hasOwn(entries, child.physical) ? entries[child.physical] : null,
        ),
      ),
    );
    return makeData({ ...base, type: type as Struct, children });
  }
  return scalarEncoders[column.type](type, base, values);
}

type MemberValues = Readonly<Record<string, unknown>>;
interface DataBase {
  readonly length: number;
  readonly nullCount: number;
  readonly nullBitmap: Uint8Array;
}
type EncodeValues = (type: DataType, base: DataBase, values: readonly unknown[]) => Data;

const encodeUtf8: EncodeValues = (type, base, values) => {
  const texts = values.map((value) => Buffer.from((value as string | null) ?? ''));
  const valueOffsets = offsetsOfLengths(texts.map((text) => text.length));
  return makeData({ ...base, type, valueOffsets, data: Buffer.concat(texts) } as never);
};
const longEncoder =
  (bigintOf: (value: unknown) => bigint): EncodeValues =>
  (type, base, values) =>
    makeData({
      ...base,
      type,
      data: BigInt64Array.from(values, (value) => (value === null ? 0n : bigintOf(value))),
    } as never);
const numberEncoder =
  (build: { from(values: readonly number[]): ArrayBufferView }): EncodeValues =>
  (type, base, values) =>
    makeData({
      ...base,
      type,
      data: build.from(values.map((value) => (value as number | null) ?? 0)),
    } as never);

const scalarEncoders: Readonly<Record<Exclude<Column['type'], 'object'>, EncodeValues>> = {
  boolean: (type, base, values) =>
    makeData({ ...base, type, data: packBits(values.map((value) => value === true)) } as never),
  date: longEncoder((value) => (value as { micros: bigint }).micros),
  double: numberEncoder(Float64Array),
  float: numberEncoder(Float32Array),
  integer: numberEncoder(Int32Array),
  long: longEncoder((value) => value as bigint),
  string: encodeUtf8,
  text: encodeUtf8,
  blob: encodeUtf8,
  json: encodeUtf8,
};

function validityBitmap(values: readonly unknown[]): { nullBitmap: Uint8Array; nullCount: number } {
  const presenceFlags = values.map((value) => value !== null && value !== undefined);
  return {
    nullBitmap: packBits(presenceFlags),
    nullCount: presenceFlags.filter((isSet) => !isSet).length,
  };
}

function packBits(values: readonly boolean[]): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(values.length / 64) * 8);
  values.forEach((value, index) => {
    if (value) bytes[index >> 3]! |= 1 << (index & 7);
  });
  return bytes;
}

function offsetsOfLengths(lengths: readonly number[]): Int32Array {
  const offsets = new Int32Array(lengths.length + 1);
  lengths.forEach((length, index) => {
    offsets[index + 1] = offsets[index]! + length;
  });
  return offsets;
}
