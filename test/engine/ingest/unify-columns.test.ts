import { describe, expect, test } from '@jest/globals';
import {
  unifyChunkColumns,
  needsRewrite,
  storedColumns,
  unifyColumns,
} from '../../../engine/ingest/unify-columns.js';
import type { Column, Columns, StoredType } from '../../../engine/core/types.js';
import { seededRandom, type Random } from '../../random.js';
import { seed } from '../../seed.js';

describe('unifyColumns', () => {
  test.each<[string, string, string]>([
    ['long', 'double', 'double'],
    ['integer', 'long', 'long'],
    ['integer', 'float', 'double'],
    ['long', 'string', 'string'],
    ['boolean', 'long', 'string'],
    ['date', 'string', 'string'],
    ['date', 'long', 'string'],
    ['date', 'date', 'date'],
    ['long', 'list long', 'list long'],
    ['list long', 'double', 'list double'],
    ['list long', 'list string', 'list string'],
    ['object', 'list object', 'list object'],
    ['object', 'string', 'json'],
    ['object', 'list string', 'json'],
    ['json', 'list long', 'json'],
    ['string', 'text', 'text'],
    ['null', 'long', 'long'],
    ['null', 'null', 'string'],
    ['list null', 'long', 'list long'],
    ['list null', 'null', 'list string'],
    ['list null', 'object', 'list object'],
  ])('%s and %s are %s', (a, b, unifiedType) => {
    expect(columnTypes(unifyColumns([], [[parseColumn(a)], [parseColumn(b)]]).columns)).toEqual([
      unifiedType,
    ]);
    expect(columnTypes(unifyColumns([], [[parseColumn(b)], [parseColumn(a)]]).columns)).toEqual([
      unifiedType,
    ]);
  });

  test('merges the members of objects at every level', () => {
    const a = objectColumn('o', [
      namedColumn('x', 'long'),
      objectColumn('p', [namedColumn('u', 'long')]),
    ]);
    const b = objectColumn('o', [
      objectColumn('p', [namedColumn('v', 'boolean'), namedColumn('u', 'double')]),
      namedColumn('y', 'date'),
    ]);
    expect(unifyColumns([], [[a], [b]]).columns).toEqual([
      objectColumn('o', [
        namedColumn('x', 'long'),
        objectColumn('p', [namedColumn('u', 'double'), namedColumn('v', 'boolean')]),
        namedColumn('y', 'date'),
      ]),
    ]);
  });

  test('stores objects that are always empty as json', () => {
    expect(columnTypes(unifyColumns([], [[objectColumn('a', [])]]).columns)).toEqual(['json']);
  });

  test.each<[StoredType, StoredType, StoredType]>([
    ['long', 'double', 'double'],
    ['integer', 'double', 'double'],
    ['integer', 'long', 'long'],
    ['float', 'double', 'double'],
    ['string', 'text', 'text'],
    ['double', 'long', 'double'],
    ['text', 'string', 'text'],
    ['long', 'string', 'long'],
    ['boolean', 'long', 'boolean'],
  ])(
    'an existing %s that nobody declared and %s are %s',
    (existingType, chunkType, unifiedType) => {
      const chunkColumns = [
        namedColumn('a', chunkType),
        objectColumn('o', [namedColumn('x', chunkType)]),
      ];
      const existing = [
        namedColumn('a', existingType),
        objectColumn('o', [namedColumn('x', existingType)]),
      ];
      const expectedColumns = [
        namedColumn('a', unifiedType),
        objectColumn('o', [namedColumn('x', unifiedType)]),
      ];
      expect(unifyColumns(existing, [chunkColumns]).columns).toEqual(expectedColumns);
      const declare = (one: Column): Column => ({ ...one, isDeclared: true });
      const declaredColumns = [
        declare(namedColumn('a', existingType)),
        objectColumn('o', [declare(namedColumn('x', existingType))]),
      ];
      expect(unifyColumns(declaredColumns, [chunkColumns]).columns).toEqual(existing);
    },
  );

  test('never changes another existing column, and returns the columns of chunks that differ', () => {
    const existing = [namedColumn('a', 'long'), objectColumn('o', [namedColumn('x', 'string')])];
    const chunkColumns = [
      namedColumn('a', 'string'),
      objectColumn('o', [namedColumn('x', 'long'), namedColumn('y', 'long')]),
      namedColumn('b', 'date'),
    ];
    expect(unifyColumns(existing, [chunkColumns])).toEqual({
      columns: [
        namedColumn('a', 'long'),
        objectColumn('o', [namedColumn('x', 'string'), namedColumn('y', 'long')]),
        namedColumn('b', 'date'),
      ],
      conflicts: [
        { path: 'a', from: 'string', to: 'long' },
        { path: 'o.x', from: 'long', to: 'string' },
      ],
    });
  });

  test('assigns names that query engines distinguish', () => {
    const chunkColumns = ['a', 'A', 'a~2', '', '_ID', 'x\u0000y', 'x_y', '\ufeffz'].map((name) =>
      namedColumn(name, 'long'),
    );
    expect(unifyColumns([], [chunkColumns]).columns.map(({ physical }) => physical)).toEqual([
      'a',
      'A~2',
      'a~2~2',
      '~2',
      '_ID~2',
      'x_y',
      'x_y~2',
      '_z',
    ]);
    const existing = [{ ...namedColumn('B', 'long'), physical: 'B' }];
    expect(unifyColumns(existing, [[namedColumn('b', 'long')]]).columns[1]!.physical).toBe('b~2');
  });

  test('is commutative, associative and idempotent over random columns', () => {
    console.log(`unify seed ${seed}`);
    const next = seededRandom(seed);
    for (let round = 0; round < 500; round++) {
      const [a, b, c] = [randomColumns(next, 3), randomColumns(next, 3), randomColumns(next, 3)];
      const unifiedColumns = unifyColumns([], [a, b, c]).columns;
      expect(sortColumns(unifyColumns([], [c, a, b]).columns)).toEqual(sortColumns(unifiedColumns));
      expect(sortColumns(unifyColumns([], [b, c, a]).columns)).toEqual(sortColumns(unifiedColumns));
      expect(unifyColumns([], [unifyChunkColumns(a, b), c]).columns).toEqual(unifiedColumns);
      expect(unifyColumns([], [a, unifyChunkColumns(b, c)]).columns).toEqual(unifiedColumns);
      expect(unifyColumns([], [a, b, c, a, b]).columns).toEqual(unifiedColumns);
      expect(unifyColumns(unifiedColumns, []).columns).toEqual(unifiedColumns);
      expect(unifyColumns([], [unifiedColumns]).columns).toEqual(unifiedColumns);
    }
  });
});

describe('needsRewrite', () => {
  const finalColumns = [
    namedColumn('a', 'double'),
    objectColumn('o', [namedColumn('x', 'long'), namedColumn('y', 'string')]),
  ];
  test.each<[string, Columns, boolean]>([
    ['the same columns', finalColumns, false],
    ['fewer columns, members too', [objectColumn('o', [namedColumn('y', 'string')])], false],
    ['another type', [namedColumn('a', 'long')], true],
    ['another type inside an object', [objectColumn('o', [namedColumn('x', 'double')])], true],
    ['a list', [{ ...namedColumn('a', 'double'), isList: true }], true],
    ['another physical name', [{ ...namedColumn('a', 'double'), physical: 'a~2' }], true],
    ['nothing but nulls', [{ ...namedColumn('a', 'string'), seen: 'null' }], false],
    ['empty lists', [{ ...namedColumn('a', 'string'), isList: true, seen: 'null' }], true],
    ['values that did not fit', [{ ...namedColumn('a', 'double'), seen: 'mixed' }], true],
  ])('%s: %#', (_, chunk, expected) => {
    expect(needsRewrite(chunk, finalColumns)).toBe(expected);
  });
});

test('a segment has no column whose values are all null', () => {
  const chunkColumns: Columns = [
    { ...namedColumn('a', 'string'), seen: 'null' },
    objectColumn('o', [{ ...namedColumn('x', 'string'), seen: 'null' }, namedColumn('y', 'long')]),
  ];
  expect(storedColumns(chunkColumns)).toEqual([objectColumn('o', [namedColumn('y', 'long')])]);
});

function namedColumn(name: string, type: StoredType): Column {
  return { name, physical: name, type, isList: false };
}
function objectColumn(name: string, children: Columns): Column {
  return { ...namedColumn(name, 'object'), children };
}
function parseColumn(text: string): Column {
  const isList = text.startsWith('list ');
  const type = text.replace('list ', '');
  if (type === 'null') return { ...namedColumn('c', 'string'), isList, seen: 'null' };
  if (type === 'object') return { ...objectColumn('c', [namedColumn('x', 'long')]), isList };
  return { ...namedColumn('c', type as StoredType), isList };
}
function columnTypes(columns: Columns): string[] {
  return columns.map(({ type, isList }) => (isList ? `list ${type}` : type));
}
function sortColumns(columns: Columns): unknown {
  return columns
    .map(({ name, type, isList, children }) => ({
      name,
      type,
      isList,
      children: children && sortColumns(children),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
const scalarTypes: readonly StoredType[] = [
  'boolean',
  'date',
  'integer',
  'long',
  'float',
  'double',
  'string',
  'text',
  'blob',
  'json',
];
function randomColumns(next: Random, depth: number): Column[] {
  return ['a', 'b', 'c', 'd']
    .filter(() => next() < 0.6)
    .map((name): Column => {
      const isList = next() < 0.3;
      const roll = next();
      if (roll < 0.2) return { ...namedColumn(name, 'string'), isList, seen: 'null' };
      if (roll < 0.5 && depth > 0)
        return { ...objectColumn(name, randomColumns(next, depth - 1)), isList };
      const type = scalarTypes[Math.floor(next() * scalarTypes.length)]!;
      return { ...namedColumn(name, type), isList: isList && type !== 'json' };
    });
}
