import { describe, expect, test } from '@jest/globals';
import { deletedRows, deletionVector, rowsOfRecords } from '../../../engine/store/deletion-vector.js';

describe('a deletion vector', () => {
  // Source: the Delta protocol, "Deletion Vectors", its example of an inline vector (delta-io/delta, PROTOCOL.md, Apache 2.0).
  const example = {
    encoded: 'wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L',
    bytes: 40,
    rows: 6,
  };

  test('of the protocol is read, and written alike', () => {
    expect([...deletedRows(example)]).toEqual([3, 4, 7, 11, 18, 29]);
    expect(deletionVector(Int32Array.of(3, 4, 7, 11, 18, 29))).toEqual(example);
  });
});
