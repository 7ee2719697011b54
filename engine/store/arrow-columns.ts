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
import { physicalOf, type ParquetColumn, type LeafType } from '../parquet/parquet-schema.js';

/*
 * Converts the columns of a segment (engine/core/types.ts) to Arrow, Delta and Parquet schemas. These formats have fewer types and no
 * logical names, so the metadata of Arrow and Delta fields has the stored type, and the name if it is not the physical one; other readers
 * ignore it.
 */
const typeMetadataKey = 'strandlake.type';
const nameMetadataKey = 'strandlake.name';

const stringColumnTemplate: Column = { name: '', physical: '', type: 'string', isList: false };

/** The first two columns of every segment: the id of the record, and the id of the commit that added it. */
export const reservedColumns: Columns = [
  { ...stringColumnTemplate, name: '_id', physical: '_id' },
  { ...stringColumnTemplate, name: '_commit', physical: '_commit' },
];

type StoredScalarType = Exclude<StoredType, 'object'>;

/** The Arrow, Delta and Parquet types of each scalar type. */
const scalarTypeMapping: Readonly<Record<StoredScalarType, () => [ArrowType, string, LeafType]>> = {
  boolean: () => [new Bool(), 'boolean', 'boolean'],
  date: () => [new TimestampMicrosecond('UTC'), 'timestamp', 'timestamp'],
  double: () => [new Float64(), 'double', 'double'],
  float: () => [new Float32(), 'float', 'float'],
  integer: () => [new Int32(), 'integer', 'int32'],
  long: () => [new Int64(), 'long', 'int64'],
  string: () => [new Utf8(), 'string', 'string'],
  text: () => [new Utf8(), 'string', 'string'],
  blob: () => [new Utf8(), 'string', 'string'],
  json: () => [new Utf8(), 'string', 'string'],
};

/** Returns the Parquet columns of a segment with these columns, preceded by the reserved ones. */
export function parquetColumns(columns: Columns): readonly ParquetColumn[] {
  return parquetColumnsWithoutReserved([...reservedColumns, ...columns]);
}

/** Returns the Parquet columns of a file with exactly these columns. */
export function parquetColumnsWithoutReserved(columns: Columns): readonly ParquetColumn[] {
  return columns.map(parquetColumn);
}

function parquetColumn(column: Column): ParquetColumn {
  const { physical: name, type, isList } = column;
  if (type !== 'object') return { name, type: scalarTypeMapping[type]()[2], isList };
  return { name, type: 'group', isList, children: requireChildren(column).map(parquetColumn) };
}

/** Returns the Parquet physical type of a stored type: one of `physicalType`. */
export function physicalOfStored(type: StoredScalarType): number {
  return physicalOf(scalarTypeMapping[type]()[2]);
}

/** Returns the Arrow schema of a segment with these columns, preceded by the reserved ones. */
export function arrowSchema(columns: Columns): Schema {
  return new Schema([...reservedColumns, ...columns].map(arrowField));
}

function arrowField(column: Column): Field {
  const valueType = arrowValueType(column);
  const type = column.isList ? new List(new Field('element', valueType, true)) : valueType;
  return new Field(column.physical, type, true, new Map(Object.entries(arrowMetadataOf(column))));
}

function arrowValueType(column: Column): ArrowType {
  if (column.type !== 'object') return scalarTypeMapping[column.type]()[0];
  return new Struct(requireChildren(column).map(arrowField));
}

/** A field of a Delta schema (Delta protocol, "Schema Serialization Format"). */
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

/** Returns the `schemaString` of a Delta table with these columns, preceded by the reserved ones. */
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
    metadata: arrowMetadataOf(column),
  };
}

function deltaItem(column: Column): DeltaType {
  if (column.type !== 'object') return scalarTypeMapping[column.type]()[1];
  return { type: 'struct', fields: requireChildren(column).map(deltaField) };
}

/** Returns the columns of a `schemaString`, without the reserved ones. Throws an `Error` if the text cannot be read as such. */
export function columnsOfDelta(schemaString: string): Columns {
  const schema = JSON.parse(schemaString) as DeltaType;
  if (typeof schema !== 'object' || schema.type !== 'struct') throw new Error('not a struct');
  return schema.fields.map(columnOfDelta).filter((column) => !isReserved(column));
}

function columnOfDelta(field: DeltaField): Column {
  const isList = typeof field.type === 'object' && field.type.type === 'array';
  const valueType = isList ? (field.type as { elementType: DeltaType }).elementType : field.type;
  const column = {
    name: (field.metadata?.[nameMetadataKey] as string | undefined) ?? field.name,
    physical: field.name,
    type:
      (field.metadata?.[typeMetadataKey] as StoredType | undefined) ?? plainDeltaType(valueType),
    isList,
  };
  if (typeof valueType !== 'object') return column;
  if (valueType.type !== 'struct') throw new Error(`${field.name} is a list of lists`);
  return { ...column, children: valueType.fields.map(columnOfDelta) };
}

function plainDeltaType(type: DeltaType): StoredType {
  if (typeof type === 'object') return 'object';
  for (const [name, types] of Object.entries(scalarTypeMapping)) {
    if (types()[1] === type) return name as StoredType;
  }
  throw new Error(`unknown type ${type}`);
}

function arrowMetadataOf(column: Column): Record<string, string> {
  const type = { [typeMetadataKey]: column.type };
  return column.name === column.physical ? type : { ...type, [nameMetadataKey]: column.name };
}

/** Returns the children of an object; throws if there are none, because Parquet cannot express a group without members. */
function requireChildren(column: Column): Columns {
  if (column.children === undefined || column.children.length === 0) {
    throw new AppError('internal', `object ${column.name} has no fields: store it as json`);
  }
  return column.children;
}

function isReserved(column: Column): boolean {
  return reservedColumns.some((reserved) => reserved.physical === column.physical);
}
