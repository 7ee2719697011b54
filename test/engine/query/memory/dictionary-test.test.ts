import { expect, test } from '@jest/globals';
import { dictionaryTest } from '../../../../engine/query/memory/match/dictionary-test.js';
import { firstRows } from '../../../../engine/query/memory/match/selection-bytes.js';
import { isSparse } from '../../../../engine/query/memory/match/selection-vector.js';
import { isUnsupported } from '../../../../engine/query/unsupported.js';
import { TestDictionary } from './test-dictionary.js';

const dictionary = new TestDictionary(Array.from({ length: 70_000 }, (_, i) => `value ${i}`));

/** Returns the rows that a `dictionaryTest` selects whose condition holds for the given entries of the dictionary and no others. */
function rowsWithEntries(
  indices: Uint8Array | Uint16Array | Uint32Array,
  entries: readonly number[],
): readonly number[] {
  const condition = dictionaryTest((_, from, add) => {
    for (const entry of entries) if (entry >= from) add(entry);
    return undefined;
  });
  const selection = condition.find(
    { kind: 'dictionary', indices, dictionary },
    indices.length,
    'all',
  );
  if (isUnsupported(selection) || (typeof selection === 'object' && isSparse(selection)))
    throw new Error('the rows are selected by bytes');
  return firstRows(selection, indices.length, indices.length);
}

const indexArrays = [
  ['8', Uint8Array, 0x100],
  ['16', Uint16Array, 0x10000],
  ['32', Uint32Array, 70_000],
] as const;

test.each(indexArrays)(
  'indices of %s bits have the rows of the entries, also of entries that are too large for them',
  (_, ArrayType, end) => {
    const storedIndices = [0, 1, 5, 6, 7, 0xfe, 0xff, 5, 5, 6, 5].concat(
      [0x100, 0x101, 0xfffe, 0xffff, 0x10000, 0x10005, 69_999].filter((entry) => entry < end),
    );
    const indices = ArrayType.from(storedIndices);
    const allEntries = [0, 1, 2, 5, 6, 0xff, 0x100, 0x105, 0x106, 0xffff, 0x10000, 0x10001, 0x10005, 0x10006, 69_999]; // prettier-ignore
    for (const entry of allEntries) {
      const expectedRows = storedIndices.flatMap((each, row) => (each === entry ? [row] : []));
      expect([entry, rowsWithEntries(indices, [entry])]).toEqual([entry, expectedRows]);
      const expectedOfTwo = storedIndices.flatMap((each, row) => (each === entry || each === 6 ? [row] : [])); // prettier-ignore
      expect([entry, rowsWithEntries(indices, [6, entry])]).toEqual([entry, expectedOfTwo]);
    }
  },
);
