import { describe, expect, test } from '@jest/globals';
import { tableFromIPC, tableToIPC, Table } from 'apache-arrow';
import {
  arrowSchema,
  columnsOfArrow,
  columnsOfDelta,
  deltaSchema,
} from '../../../engine/store/arrow.js';
import type { Column, Columns, StoredType } from '../../../engine/core/types.js';

const scalarTypes = [
  'boolean', 'date', 'double', 'float', 'integer', 'long', 'string', 'text', 'blob', 'json',
] as const satisfies readonly StoredType[]; // prettier-ignore

const scalars: Columns = scalarTypes.flatMap((type): Column[] => [
  { name: type, physical: type, type, isList: false },
  { name: `${type} list`, physical: `${type} list`, type, isList: true },
]);
const columns: Columns = [
  ...scalars,
  { name: 'A', physical: 'A~2', type: 'string', isList: false },
  { name: '', physical: '~2', type: 'long', isList: false },
  {
    name: 'info',
    physical: 'info',
    type: 'object',
    isList: false,
    children: [
      { name: 'a.b', physical: 'a.b', type: 'date', isList: true },
      { name: 'deep', physical: 'deep', type: 'object', isList: true, children: scalars },
    ],
  },
];

describe('columns', () => {
  test('survive as an Arrow schema, also through IPC', () => {
    const schema = arrowSchema(columns);
    expect(schema.fields.slice(0, 2).map((field) => field.name)).toEqual(['_id', '_commit']);
    expect(columnsOfArrow(schema)).toEqual(columns);
    expect(columnsOfArrow(tableFromIPC(tableToIPC(new Table(schema))).schema)).toEqual(columns);
  });

  test('survive as a Delta schema', () => {
    expect(columnsOfDelta(deltaSchema(columns))).toEqual(columns);
  });

  test('are found in a Delta schema that others wrote', () => {
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

  test('refuse an object without fields, which Parquet cannot hold', () => {
    const empty: Column = { name: 'o', physical: 'o', type: 'object', isList: false, children: [] };
    expect(() => arrowSchema([empty])).toThrow('object o has no fields');
  });
});
