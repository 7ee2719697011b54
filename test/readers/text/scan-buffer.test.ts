import { expect, test } from '@jest/globals';
import { ByteSet, scanBuffer, maxScannedBytes } from '../../../readers/text/scan-buffer.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';

test(`finds the bytes that a loop finds, in text of every length (seed ${seed})`, () => {
  const next = seededRandom(seed);
  const window = scanBuffer();
  for (let length = 0; length < 200; length++) {
    const text = Uint8Array.from({ length: length + 7 }, () => Math.floor(next() * 256));
    const at = Math.floor(next() * 7);
    const bytes = Array.from({ length: 1 + (length % 8) }, () => Math.floor(next() * 256));
    for (const [i, byte] of bytes.entries()) if (i < text.length) text[i] = byte;
    window.loadText(text, at);
    const count = window.search(new ByteSet(bytes));
    const expectedPositions = [...text.subarray(at).keys()].filter((i) =>
      bytes.includes(text[at + i]!),
    );
    expect([...window.positions.subarray(0, count)]).toEqual(expectedPositions);
  }
});

test('has room for `maxScannedBytes` bytes', () => {
  const window = scanBuffer();
  window.loadText(new Uint8Array(2 * maxScannedBytes).fill(1), 5);
  expect(window.textLength).toBe(maxScannedBytes);
  expect(window.search(new ByteSet([1]))).toBe(maxScannedBytes);
  window.loadText(new Uint8Array(3).fill(1), 0);
  expect(window.search(new ByteSet([1]))).toBe(3);
});

test(`gathers ranges of every length (seed ${seed})`, () => {
  const next = seededRandom(seed + 1);
  const window = scanBuffer();
  const text = Uint8Array.from({ length: 5000 }, () => Math.floor(next() * 256));
  window.loadText(text, 0);
  const pieces = Array.from({ length: 300 }, () => {
    const from = Math.floor(next() * 4900);
    return [from, from + Math.floor(next() * 90)] as const;
  });
  for (const [i, [from, to]] of pieces.entries()) {
    window.rangeStarts[10 + i] = from;
    window.rangeEnds[10 + i] = to;
  }
  const size = window.gather(10, pieces.length);
  const expectedCells = pieces.map(([from, to]) => text.subarray(from, to));
  expect(
    Buffer.from(window.gatheredBytes.subarray(0, size)).equals(Buffer.concat(expectedCells)),
  ).toBe(true);
  let end = 0;
  expect([...window.gatheredEnds.subarray(0, pieces.length)]).toEqual(
    expectedCells.map((one) => (end += one.length)),
  );
});
