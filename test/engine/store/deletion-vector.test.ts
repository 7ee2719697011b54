import { describe, expect, test } from '@jest/globals';
import {
  deletedRows,
  deletionVector,
  rowsOfRecords,
} from '../../../engine/store/deletion-vector.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';

/** Returns ascending rows of up to four Roaring containers, each of which may need another form: an array, a bitmap or runs. */
function randomRows(next: () => number): Int32Array {
  const rows: number[] = [];
  for (let key = 0; key < 4; key++) {
    const form = next();
    if (form < 0.2) continue;
    const firstRow = key << 16;
    const share = form < 0.5 ? next() / 20 : next();
    for (let row = firstRow; row < firstRow + 65_536;) {
      if (form > 0.75) {
        const end = row + Math.ceil(next() * 5_000);
        for (; row < Math.min(end, firstRow + 65_536); row++)
          if (form > 0.9 || end % 2) rows.push(row);
      } else if (next() < share) rows.push(row++);
      else row++;
    }
  }
  return Int32Array.from(rows.length === 0 ? [0] : rows);
}

describe('a deletion vector', () => {
  // The 32-bit bitmap of the rows 3, 4, 7, 11, 18 and 29, from the example of an inline vector in the Delta protocol (delta-io/delta,
  // PROTOCOL.md, "Deletion Vectors", Apache 2.0), without the bytes before the bitmap, which have an older form in the example.
  const example = '3a3000000100000000000500100000000300040007000b0012001d00';

  test('holds a Roaring bitmap in the portable format, in Z85', () => {
    const { encoded, bytes, rows } = deletionVector(Int32Array.of(3, 4, 7, 11, 18, 29));
    const decodedBytes = decodeZ85(encoded).subarray(0, bytes);
    // The bytes before the bitmap: the magic number, the number of bitmaps (one), and the key of the bitmap.
    expect(decodedBytes.subarray(0, 16).toString('hex')).toBe('d1d33964010000000000000000000000');
    expect(decodedBytes.subarray(16).toString('hex')).toBe(example);
    expect(rows).toBe(6);
    // The test vector of ZeroMQ RFC 32, which defines Z85.
    expect(decodeZ85('HelloWorld').toString('hex')).toBe('864fd26fb559f75b');
  });

  test(`gives back the rows that it was made of (STRANDLAKE_SEED=${seed})`, () => {
    const next = seededRandom(seed);
    for (let i = 0; i < 10; i++) {
      const rows = randomRows(next);
      const { encoded, bytes, rows: count } = deletionVector(rows);
      // A copy of the vector is passed, so that the function decodes the rows from its text instead of returning cached ones.
      expect(deletedRows({ encoded, bytes, rows: count })).toEqual(rows);
      const goneRows = new Set(rows);
      const liveRowList = Array.from({ length: 262_144 }, (_, row) => row).filter(
        (row) => !goneRows.has(row),
      );
      const from = Math.floor(next() * liveRowList.length);
      const someRows = rowsOfRecords(
        { encoded, bytes, rows: count },
        from,
        Math.min(liveRowList.length, from + 50),
      );
      expect([...someRows]).toEqual(liveRowList.slice(from, from + 50));
    }
  });

  test.each([
    ['another number of rows', { rows: 7 }],
    ['fewer bytes', { bytes: 20 }],
    ['no bytes', { bytes: 0 }],
    ['a foreign character', { encoded: '~~~~~' }],
    ['another text', { encoded: 'HelloWorld' }],
  ])('with %s is damaged', (_, change) => {
    const vector = { ...deletionVector(Int32Array.of(3, 4, 7)), ...change };
    expect(() => deletedRows(vector)).toThrow(/^a deletion vector /);
  });
});

/** Decodes Z85, without code of the product. */
function decodeZ85(text: string): Buffer {
  const alphabet =
    '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#';
  const bytes = Buffer.alloc((text.length / 5) * 4);
  for (let at = 0; at < text.length; at += 5) {
    const value = Array.from(text.slice(at, at + 5)).reduce(
      (sum, one) => sum * 85n + BigInt(alphabet.indexOf(one)),
      0n,
    );
    bytes.writeUInt32BE(Number(value), (at / 5) * 4);
  }
  return bytes;
}
