import { describe, expect, test } from '@jest/globals';
import { DataType, tableFromIPC, tableToIPC, Table, type Field, type List, type Struct } from 'apache-arrow'; // prettier-ignore
import { arrowSchema, columnsOfDelta, deltaSchema } from '../../../engine/store/arrow-columns.js';
import type { Column, Columns, StoredType } from '../../../engine/core/types.js';

const scalarTypes = [
  'boolean', 'date', 'double', 'float', 'integer', 'long', 'string', 'text', 'blob', 'json',
] as const satisfies readonly StoredType[]; // prettier-ignore

const scalarColumns: Columns = scalarTypes.flatMap((type): Column[] => [
  { name: type, physical: type, type, isList: false },
  { name: `${type} list`, physical: `${type} list`, type, isList: true },
]);
const columns: Columns = [
  ...scalarColumns,
  { name: 'A', physical: 'A~2', type: 'string', isList: false },
  { name: '', physical: '~2', type: 'long', isList: false },
  {
    name: 'info',
    physical: 'info',
    type: 'object',
    isList: false,
    children: [
      { name: 'a.b', physical: 'a.b', type: 'date', isList: true },
      { name: 'deep', physical: 'deep', type: 'object', isList: true, children: scalarColumns },
    ],
  },
];

/** Returns the columns that the metadata of Arrow fields describes. */
function columnsOfFields(fields: readonly Field[]): Columns {
  return fields.map((field) => {
    const isList = DataType.isList(field.type);
    const item = isList ? (field.type as List).children[0]!.type : field.type;
    const column: Column = {
      name: field.metadata.get('strandlake.name') ?? field.name,
      physical: field.name,
      type: field.metadata.get('strandlake.type') as StoredType,
      isList,
    };
    return DataType.isStruct(item)
      ? { ...column, children: columnsOfFields((item as Struct).children) }
      : column;
  });
}

describe('columns', () => {
  test('survive as an Arrow schema, also through IPC', () => {
    const schema = arrowSchema(columns);
    expect(schema.fields.slice(0, 2).map((field) => field.name)).toEqual(['_id', '_commit']);
    expect(columnsOfFields(schema.fields.slice(2))).toEqual(columns);
    const readSchema = tableFromIPC(tableToIPC(new Table(schema))).schema;
    expect(columnsOfFields(readSchema.fields.slice(2))).toEqual(columns);
  });

  test('survive as a Delta schema', () => {
    expect(columnsOfDelta(deltaSchema(columns))).toEqual(columns);
  });

  test('are read from a Delta schema of another writer', () => {
    const fields = [
      { name: 'x', type: 'long', nullable: true, metadata: {} },
      { name: 'y', type: { type: 'array', elementType: 'string', containsNull: true } },
    ];
    expect(columnsOfDelta(JSON.stringify({ type: 'struct', fields }))).toEqual([
      { name: 'x', physical: 'x', type: 'long', isList: false },
      { name: 'y', physical: 'y', type: 'string', isList: true },
    ]);
    expect(() => columnsOfDelta('{"type":"struct","fields":[{"name":"x","type":"hue"}]}')).toThrow(
      'unknown type hue',
    );
  });

  test('refuse an object without fields, which Parquet cannot express', () => {
    const emptyObject: Column = {
      name: 'o',
      physical: 'o',
      type: 'object',
      isList: false,
      children: [],
    };
    expect(() => arrowSchema([emptyObject])).toThrow('object o has no fields');
  });
});
