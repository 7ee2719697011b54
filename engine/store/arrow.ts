import {
  Bool,
  DataType as ArrowType,
  Field,
  Float32,
  Float64,
  Int32,
  Int64,
  List,
  Schema,
  Struct,
  TimestampMicrosecond,
  Utf8,
} from 'apache-arrow';
import { AppError } from '../core/errors.js';
import type { Column, Columns, StoredType } from '../core/types.js';

/*
 * A column has three spellings: ours (engine/core/types.ts), Arrow's and Delta's. The last two know fewer types and no
 * logical names, so both carry ours in the field's metadata; a reader that does not know it loses nothing.
 */
const typeKey = 'strandlake.type';
const nameKey = 'strandlake.name';

const text: Column = { name: '', physical: '', type: 'string', isList: false };

/** The first two columns of every segment: the record's own id, and the commit that brought it. */
export const reservedColumns: Columns = [
  { ...text, name: '_id', physical: '_id' },
  { ...text, name: '_commit', physical: '_commit' },
];

/** How each scalar type is stored: in Arrow, and the name that Delta has for it. */
const scalars: Readonly<Record<Exclude<StoredType, 'object'>, () => [ArrowType, string]>> = {
  boolean: () => [new Bool(), 'boolean'],
  date: () => [new TimestampMicrosecond('UTC'), 'timestamp'],
  double: () => [new Float64(), 'double'],
  float: () => [new Float32(), 'float'],
  integer: () => [new Int32(), 'integer'],
  long: () => [new Int64(), 'long'],
  string: () => [new Utf8(), 'string'],
  text: () => [new Utf8(), 'string'],
  blob: () => [new Utf8(), 'string'],
  json: () => [new Utf8(), 'string'],
};

/** The Arrow schema of a segment with these columns, the reserved ones first. */
export function arrowSchema(columns: Columns): Schema {
  return new Schema([...reservedColumns, ...columns].map(arrowField));
}

function arrowField(column: Column): Field {
  const item = arrowItem(column);
  const type = column.isList ? new List(new Field('element', item, true)) : item;
  return new Field(column.physical, type, true, new Map(Object.entries(metadataOf(column))));
}

function arrowItem(column: Column): ArrowType {
  if (column.type !== 'object') return scalars[column.type]()[0];
  return new Struct(requireChildren(column).map(arrowField));
}

/** The columns of a segment's Arrow schema, without the reserved ones. */
export function columnsOfArrow(schema: Schema): Columns {
  return schema.fields.map(columnOfArrow).filter((column) => !isReserved(column));
}

function columnOfArrow(field: Field): Column {
  const isList = ArrowType.isList(field.type);
  const item: ArrowType = isList ? (field.type as List).children[0]!.type : field.type;
  const type = (field.metadata.get(typeKey) as StoredType | undefined) ?? plainType(item);
  const column = {
    name: field.metadata.get(nameKey) ?? field.name,
    physical: field.name,
    type,
    isList,
  };
  if (!ArrowType.isStruct(item)) return column;
  return { ...column, children: (item as Struct).children.map(columnOfArrow) };
}

function plainType(type: ArrowType): StoredType {
  if (ArrowType.isStruct(type)) return 'object';
  for (const [name, spellings] of Object.entries(scalars)) {
    if (String(spellings()[0]) === String(type)) return name as StoredType;
  }
  throw new AppError('internal', `no data type for the Arrow type ${String(type)}`);
}

/** One field of a Delta schema. */
interface DeltaField {
  readonly name: string;
  readonly type: DeltaType;
  readonly nullable: boolean;
  readonly metadata?: Readonly<Record<string, unknown>>;
}
type DeltaType =
  | string
  | { readonly type: 'struct'; readonly fields: readonly DeltaField[] }
  | { readonly type: 'array'; readonly elementType: DeltaType; readonly containsNull: boolean };

/** The `schemaString` of a Delta table with these columns, the reserved ones first. */
export function deltaSchema(columns: Columns): string {
  const fields = [...reservedColumns, ...columns].map(deltaField);
  return JSON.stringify({ type: 'struct', fields });
}

function deltaField(column: Column): DeltaField {
  const elementType = deltaItem(column);
  return {
    name: column.physical,
    type: column.isList ? { type: 'array', elementType, containsNull: true } : elementType,
    nullable: true,
    metadata: metadataOf(column),
  };
}

function deltaItem(column: Column): DeltaType {
  if (column.type !== 'object') return scalars[column.type]()[1];
  return { type: 'struct', fields: requireChildren(column).map(deltaField) };
}

/** The columns of a `schemaString`, without the reserved ones; throws on anything that is not one. */
export function columnsOfDelta(schemaString: string): Columns {
  const schema = JSON.parse(schemaString) as DeltaType;
  if (typeof schema !== 'object' || schema.type !== 'struct') throw new Error('not a struct');
  return schema.fields.map(columnOfDelta).filter((column) => !isReserved(column));
}

function columnOfDelta(field: DeltaField): Column {
  const isList = typeof field.type === 'object' && field.type.type === 'array';
  const item = isList ? (field.type as { elementType: DeltaType }).elementType : field.type;
  const column = {
    name: (field.metadata?.[nameKey] as string | undefined) ?? field.name,
    physical: field.name,
    type: (field.metadata?.[typeKey] as StoredType | undefined) ?? plainDeltaType(item),
    isList,
  };
  if (typeof item !== 'object') return column;
  if (item.type !== 'struct') throw new Error(`${field.name} is a list of lists`);
  return { ...column, children: item.fields.map(columnOfDelta) };
}

function plainDeltaType(type: DeltaType): StoredType {
  if (typeof type === 'object') return 'object';
  for (const [name, spellings] of Object.entries(scalars)) {
    if (spellings()[1] === type) return name as StoredType;
  }
  throw new Error(`unknown type ${type}`);
}

function metadataOf(column: Column): Record<string, string> {
  const type = { [typeKey]: column.type };
  return column.name === column.physical ? type : { ...type, [nameKey]: column.name };
}

/** The children of an object; throws if it has none. */
export function requireChildren(column: Column): Columns {
  if (column.children === undefined || column.children.length === 0) {
    // Parquet has no group without members.
    throw new AppError('internal', `object ${column.name} has no fields: store it as json`);
  }
  return column.children;
}

function isReserved(column: Column): boolean {
  return reservedColumns.some((reserved) => reserved.physical === column.physical);
}
