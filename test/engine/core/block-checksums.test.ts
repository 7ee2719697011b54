import { describe, expect, test } from '@jest/globals';
import {
  blockBytes,
  BlockChecksums,
  VerifiedBlocks,
} from '../../../engine/core/block-checksums.js';
import { AppError } from '../../../engine/core/errors.js';
import { seed } from '../../seed.js';
import { Random } from '../query/random.js';

/** Computes CRC-32 bit by bit (ISO 3309). */
function naiveCrc(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ ((crc & 1) * 0xedb88320);
  }
  return ~crc >>> 0;
}

const alteredError = (): AppError => new AppError('damaged', 'altered');

describe(`checksums of blocks (seed ${seed})`, () => {
  const random = new Random(seed);
  const bytesOf = (length: number): Buffer => {
    let state = 1 + random.integerBelow(2 ** 31);
    return Buffer.from(Uint8Array.from({ length }, () => (state = Math.imul(state, 0x9e3779b1) + 1) >>> 24)); // prettier-ignore
  };
  const checksumsOf = (file: Buffer): string => {
    const checksums = new BlockChecksums();
    for (let at = 0; at < file.length;) {
      const size = 1 + random.integerBelow(random.pick([10, 5_000, 3 * blockBytes]));
      checksums.update(file.subarray(at, at + size));
      at += size;
    }
    return checksums.finish();
  };
  const readerOf = (file: Buffer) => (into: Uint8Array, from: number) => {
    into.set(file.subarray(from, from + into.length));
  };
  const sizes = [0, 1, blockBytes - 1, blockBytes, blockBytes + 1, 2 * blockBytes, 3 * blockBytes + 77]; // prettier-ignore

  test.each(sizes)('a file of %i bytes has one for each block', (size) => {
    const file = bytesOf(size);
    const expected = Array.from({ length: Math.ceil(size / blockBytes) }, (_, i) =>
      naiveCrc(file.subarray(i * blockBytes, (i + 1) * blockBytes)),
    );
    const sumBytes = Buffer.from(checksumsOf(file), 'base64');
    const storedSums = Array.from({ length: sumBytes.length / 4 }, (__, i) =>
      sumBytes.readUInt32LE(4 * i),
    );
    expect(storedSums).toEqual(expected);
  });

  test('every read gives the bytes of the file, and refuses those of an altered block', () => {
    for (let round = 0; round < 25; round++) {
      const file = bytesOf(1 + random.integerBelow(5 * blockBytes));
      const checksums = checksumsOf(file);
      const badByte = random.integerBelow(file.length);
      const isAltered = random.chance(0.7);
      const storedFile = Buffer.from(file);
      if (isAltered) storedFile[badByte]! ^= 1 << random.integerBelow(8);
      const blocks = new VerifiedBlocks(checksums, file.length, alteredError);
      for (let i = 0; i < 20; i++) {
        const from = random.integerBelow(file.length);
        const length =
          1 + random.integerBelow(Math.min(file.length - from, random.pick([10, 1e6])));
        const touches = (block: number): boolean =>
          block * blockBytes < from + length && (block + 1) * blockBytes > from;
        const target = Buffer.alloc(length);
        const read = (): void => blocks.read(target, from, readerOf(storedFile));
        if (isAltered && touches(Math.floor(badByte / blockBytes))) expect(read).toThrow('altered');
        else {
          read();
          expect(target.equals(file.subarray(from, from + length))).toBe(true);
        }
      }
    }
  });

  test('a file of another size is refused', () => {
    const file = bytesOf(2 * blockBytes);
    const checksums = checksumsOf(file);
    for (const size of [0, blockBytes, 2 * blockBytes + 1])
      expect(() => new VerifiedBlocks(checksums, size, alteredError)).toThrow('altered');
    const shorterBlocks = new VerifiedBlocks(checksums, 2 * blockBytes - 1, alteredError);
    const target = Buffer.alloc(1);
    expect(() => shorterBlocks.read(target, blockBytes, readerOf(file))).toThrow('altered');
  });
});
