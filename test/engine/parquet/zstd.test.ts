import {
  createZstdCompress,
  createZstdDecompress,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { compressFrame, decompressFrames } from '../../../engine/parquet/zstd.js';
import { seededRandom, type Random } from '../../random.js';
import { seed } from '../../seed.js';

/** Returns random bytes with at most `variety` distinct values; fewer values repeat more. */
function randomBytes(
  next: Random,
  length: number,
  variety = 1 + Math.floor(next() * 256),
): Uint8Array {
  return Uint8Array.from({ length }, () => Math.floor(next() * variety));
}

function resultOrRefused(decompressed: () => Uint8Array): Uint8Array | 'refused' {
  try {
    return decompressed();
  } catch {
    return 'refused';
  }
}

describe('frames of zstd', () => {
  // Without the handle, each frame gets a new context, which is slow but correct.
  test.each([createZstdCompress(), createZstdDecompress()])(
    'are made and read with the handle that Node keeps in %p',
    (stream) => {
      expect(stream).toMatchObject({
        _handle: { writeSync: expect.any(Function) },
        _writeState: expect.any(Uint32Array),
      });
      stream.destroy();
    },
  );

  test(`are what zlib reads, whatever came before (STRANDLAKE_SEED=${seed})`, () => {
    const next = seededRandom(seed);
    for (const length of [0, 1, 255, 256, 32 << 10, 300_000, 5, 131_072, 131_073, 100]) {
      const plain = randomBytes(next, length);
      const frame = compressFrame(plain);
      expect(Buffer.compare(zstdDecompressSync(frame), plain)).toBe(0);
      expect(Buffer.compare(decompressFrames([frame], length), plain)).toBe(0);
    }
  });

  test(`of zlib are read together (STRANDLAKE_SEED=${seed})`, () => {
    const next = seededRandom(seed);
    const plain = [700, 0, 40_000, 1].map((length) => randomBytes(next, length));
    const allBytes = Buffer.concat(plain);
    const decompressed = decompressFrames(
      plain.map((bytes) => zstdCompressSync(bytes)),
      allBytes.length,
    );
    expect(Buffer.compare(decompressed, allBytes)).toBe(0);
  });

  test('of another length than was said are refused', () => {
    const frame = compressFrame(new Uint8Array(100));
    for (const length of [0, 99, 101])
      expect(() => decompressFrames([frame], length)).toThrow(RangeError);
  });

  test(`that are damaged are refused or of the right length, and harm no other (STRANDLAKE_SEED=${seed})`, () => {
    const next = seededRandom(seed);
    // The bytes must be repetitive enough to be compressed, because damage of uncompressed bytes would not be noticed.
    const plain = randomBytes(next, 2000, 20);
    const frame = compressFrame(plain);
    let refusedCount = 0;
    for (let round = 0; round < 300; round++) {
      const isCut = round % 2 === 0;
      const damagedFrame = isCut
        ? frame.slice(0, Math.floor(next() * frame.length))
        : frame.map((byte) => (next() < 0.002 ? byte ^ (1 << Math.floor(next() * 8)) : byte));
      const decompressed = resultOrRefused(() => decompressFrames([damagedFrame], plain.length));
      if (decompressed === 'refused') refusedCount++;
      else expect([isCut, decompressed.length]).toEqual([false, plain.length]);
      expect(Buffer.compare(decompressFrames([frame], plain.length), plain)).toBe(0);
    }
    expect(refusedCount).toBeGreaterThan(150);
  });
});
