import { expect, test } from '@jest/globals';
import type { Column } from '../../../../engine/core/types.js';
import type { StoredRows } from '../../../../engine/query/predicate/kinds/kind.js';
import { keyBoundFinder } from '../../../../engine/query/memory/key-bounds.js';

type Stats = StoredRows['stats'][string];

/** Returns the bounds, descending and ascending, of a field in a segment of ten rows; with `absent`, the segment does not store it. */
function boundsOf(
  fieldType: Column['type'],
  storedType: Column['type'] | 'absent',
  stats: Stats,
  more: Partial<Column> = {},
) {
  // prettier-ignore
  const columns = storedType === 'absent' ? [] : [{ name: 'x', physical: 'f', type: storedType, isList: false, ...more }]; // prettier-ignore
  const segment = { rows: 10, columns, stats: { f: stats } };
  return [true, false].map((descending) =>
    keyBoundFinder({ field: { name: 'x', path: ['x'], type: fieldType }, descending })(segment),
  );
}

test('the bounds are the greatest and the least value of the statistics', () => {
  expect(boundsOf('double', 'double', { nulls: 0, min: -1.5, max: 7 })).toEqual([7, -1.5]);
  expect(boundsOf('double', 'float', { nulls: 0, min: 1, max: 2 })).toEqual([2, 1]);
  expect(boundsOf('long', 'integer', { nulls: 3, min: 1, max: 2 })).toEqual([2n, 1n]);
  expect(boundsOf('long', 'long', { nulls: 0, min: 1, max: '9007199254740993' })).toEqual([9007199254740993n, 1n]); // prettier-ignore
  const dates = { nulls: 0, min: '1970-01-01T00:00:00.001Z', max: '1970-01-01T00:00:01.000Z' };
  expect(boundsOf('date', 'date', dates)).toEqual([1_000_000n, 1_000n]);
  expect(boundsOf('string', 'string', { nulls: 0, min: 'A', max: 'TP53' })).toEqual(['TP53', 'A']);
});

test('a segment without a value has the bound of missing values, which sort last', () => {
  expect(boundsOf('double', 'absent', {})).toEqual([null, null]);
  expect(boundsOf('double', 'double', { nulls: 10 })).toEqual([null, null]);
});

test('bounds that are not those of the values are unknown', () => {
  const unknown = [undefined, undefined];
  expect(boundsOf('double', 'double', { nulls: 0 })).toEqual(unknown);
  expect(boundsOf('boolean', 'boolean', { nulls: 0 })).toEqual(unknown);
  // A long is rounded when it is read as a double, and the values of other types have another order.
  expect(boundsOf('double', 'long', { nulls: 0, min: 1, max: 2 })).toEqual(unknown);
  expect(boundsOf('string', 'date', { nulls: 0, min: '2020-01-01', max: '2021-01-01' })).toEqual(unknown); // prettier-ignore
  expect(boundsOf('double', 'double', { nulls: 1 }, { isList: true })).toEqual(unknown);
  // The upper bound was shortened, the lower bound still is one.
  expect(boundsOf('string', 'string', { nulls: 0, min: 'a', max: 'b\u{10FFFF}' })).toEqual([undefined, 'a']); // prettier-ignore
  expect(boundsOf('string', 'string', { nulls: 0, min: 'a', max: '\uD800' })).toEqual([undefined, 'a']); // prettier-ignore
});
