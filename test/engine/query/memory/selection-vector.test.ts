import { describe, expect, test } from '@jest/globals';
import {
  countOf,
  rowNumbers,
  withoutRows,
  type SelectionVector,
} from '../../../../engine/query/memory/match/selection-vector.js';

/** No multiple of four, so that loops over four rows at a time leave some. */
const rowCount = 6_403;
const allRows = Array.from({ length: rowCount }, (_, row) => row);
const isThird = (row: number): boolean => row % 3 === 0;

describe.each([
  ['a single deleted row', 1, false],
  ['each deleted row, if they are one in 32', 200, false],
  ['each deleted row, if they are more', 201, true],
])('%s', (_, count, isKept) => {
  const deletedRows = Int32Array.from({ length: count }, (_unused, i) => 31 * i + 2);
  const liveRows = allRows.filter((row) => !deletedRows.includes(row));

  test.each<[string, () => SelectionVector, (row: number) => boolean]>([
    ['all rows', () => 'all', () => true],
    ['no rows', () => 'none', () => false],
    ['a mask', () => Uint8Array.from(allRows, (row) => (isThird(row) ? 1 : 0)), isThird],
    ['row numbers', () => Int32Array.from(allRows.filter(isThird)), isThird],
  ])('is left out of %s', (_name, selection, isSelected) => {
    const expectedRows = liveRows.filter(isSelected);
    for (let time = 0; time < 2; time++) {
      const remainingRows = withoutRows(selection(), deletedRows, rowCount);
      expect([...rowNumbers(remainingRows, rowCount)]).toEqual(expectedRows);
      expect(countOf(remainingRows, rowCount)).toBe(expectedRows.length);
    }
  });

  test(`${isKept ? 'stays' : 'does not stay'} in memory as a mask`, () => {
    const remainingRows = withoutRows('all', deletedRows, rowCount);
    expect(withoutRows('all', deletedRows, rowCount) === remainingRows).toBe(isKept);
  });
});
