import { describe, expect, test } from '@jest/globals';
import {
  joinColumns,
  needsRewrite,
  storedColumns,
  unifyColumns,
} from '../../../engine/ingest/unify-columns.js';
import type { Column, Columns, StoredType } from '../../../engine/core/types.js';
import { random, type Random } from '../../random.js';
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
  ])('%s and %s are %s', (a, b, both) => {
    expect(shape(unifyColumns([], [[column(a)], [column(b)]]).columns)).toEqual([both]);
    expect(shape(unifyColumns([], [[column(b)], [column(a)]]).columns)).toEqual([both]);
  });

  test('merges the members of objects at every level', () => {
    const a = object('o', [named('x', 'long'), object('p', [named('u', 'long')])]);
    const b = object('o', [
      object('p', [named('v', 'boolean'), named('u', 'double')]),
      named('y', 'date'),
    ]);
    expect(unifyColumns([], [[a], [b]]).columns).toEqual([
      object('o', [
        named('x', 'long'),
        object('p', [named('u', 'double'), named('v', 'boolean')]),
        named('y', 'date'),
      ]),
    ]);
  });

  test('stores objects that are always empty as json', () => {
    expect(shape(unifyColumns([], [[object('a', [])]]).columns)).toEqual(['json']);
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
  ])('an existing %s that nobody declared and %s are %s', (old, found, both) => {
    const seen = [named('a', found), object('o', [named('x', found)])];
    const existing = [named('a', old), object('o', [named('x', old)])];
    const after = [named('a', both), object('o', [named('x', both)])];
    expect(unifyColumns(existing, [seen]).columns).toEqual(after);
    const declared = (one: Column): Column => ({ ...one, isDeclared: true });
    const fixed = [declared(named('a', old)), object('o', [declared(named('x', old))])];
    expect(unifyColumns(fixed, [seen]).columns).toEqual(existing);
  });

  test('never changes another existing column, and returns the columns of chunks that differ', () => {
    const existing = [named('a', 'long'), object('o', [named('x', 'string')])];
    const seen = [
      named('a', 'string'),
      object('o', [named('x', 'long'), named('y', 'long')]),
      named('b', 'date'),
    ];
    expect(unifyColumns(existing, [seen])).toEqual({
      columns: [
        named('a', 'long'),
        object('o', [named('x', 'string'), named('y', 'long')]),
        named('b', 'date'),
      ],
      conflicts: [
        { path: 'a', from: 'string', to: 'long' },
        { path: 'o.x', from: 'long', to: 'string' },
      ],
    });
  });

  test('assigns names that query engines distinguish', () => {
    const seen = ['a', 'A', 'a~2', '', '_ID', 'x\u0000y', 'x_y', '\ufeffz'].map((name) =>
      named(name, 'long'),
    );
    expect(unifyColumns([], [seen]).columns.map(({ physical }) => physical)).toEqual([
      'a',
      'A~2',
      'a~2~2',
      '~2',
      '_ID~2',
      'x_y',
      'x_y~2',
      '_z',
    ]);
    const existing = [{ ...named('B', 'long'), physical: 'B' }];
    expect(unifyColumns(existing, [[named('b', 'long')]]).columns[1]!.physical).toBe('b~2');
  });

  test('is commutative, associative and idempotent over random columns', () => {
    console.log(`unify seed ${seed}`);
    const next = random(seed);
    for (let round = 0; round < 500; round++) {
      const [a, b, c] = [randomColumns(next, 3), randomColumns(next, 3), randomColumns(next, 3)];
      const all = unifyColumns([], [a, b, c]).columns;
      expect(sorted(unifyColumns([], [c, a, b]).columns)).toEqual(sorted(all));
      expect(sorted(unifyColumns([], [b, c, a]).columns)).toEqual(sorted(all));
      expect(unifyColumns([], [joinColumns(a, b), c]).columns).toEqual(all);
      expect(unifyColumns([], [a, joinColumns(b, c)]).columns).toEqual(all);
      expect(unifyColumns([], [a, b, c, a, b]).columns).toEqual(all);
      expect(unifyColumns(all, []).columns).toEqual(all);
      expect(unifyColumns([], [all]).columns).toEqual(all);
    }
  });
});

describe('needsRewrite', () => {
  const final = [named('a', 'double'), object('o', [named('x', 'long'), named('y', 'string')])];
  test.each<[string, Columns, boolean]>([
    ['the same columns', final, false],
    ['fewer columns, members too', [object('o', [named('y', 'string')])], false],
    ['another type', [named('a', 'long')], true],
    ['another type inside an object', [object('o', [named('x', 'double')])], true],
    ['a list', [{ ...named('a', 'double'), isList: true }], true],
    ['another physical name', [{ ...named('a', 'double'), physical: 'a~2' }], true],
    ['nothing but nulls', [{ ...named('a', 'string'), seen: 'null' }], false],
    ['empty lists', [{ ...named('a', 'string'), isList: true, seen: 'null' }], true],
    ['values that did not fit', [{ ...named('a', 'double'), seen: 'mixed' }], true],
  ])('%s: %#', (_, chunk, expected) => {
    expect(needsRewrite(chunk, final)).toBe(expected);
  });
});

test('a segment has no column whose values are all null', () => {
  const seen: Columns = [
    { ...named('a', 'string'), seen: 'null' },
    object('o', [{ ...named('x', 'string'), seen: 'null' }, named('y', 'long')]),
  ];
  expect(storedColumns(seen)).toEqual([object('o', [named('y', 'long')])]);
});

function named(name: string, type: StoredType): Column {
  return { name, physical: name, type, isList: false };
}
function object(name: string, children: Columns): Column {
  return { ...named(name, 'object'), children };
}
function column(text: string): Column {
  const isList = text.startsWith('list ');
  const type = text.replace('list ', '');
  if (type === 'null') return { ...named('c', 'string'), isList, seen: 'null' };
  if (type === 'object') return { ...object('c', [named('x', 'long')]), isList };
  return { ...named('c', type as StoredType), isList };
}
function shape(columns: Columns): string[] {
  return columns.map(({ type, isList }) => (isList ? `list ${type}` : type));
}
function sorted(columns: Columns): unknown {
  return columns
    .map(({ name, type, isList, children }) => ({
      name,
      type,
      isList,
      children: children && sorted(children),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
const types: readonly StoredType[] = [
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
      if (roll < 0.2) return { ...named(name, 'string'), isList, seen: 'null' };
      if (roll < 0.5 && depth > 0)
        return { ...object(name, randomColumns(next, depth - 1)), isList };
      const type = types[Math.floor(next() * types.length)]!;
      return { ...named(name, type), isList: isList && type !== 'json' };
    });
}
