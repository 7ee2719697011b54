import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { compressFrame, decompressFrames, keepsContexts } from '../../../engine/parquet/zstd.js';
import { random } from '../store/random.js';

const seed = Number(process.env['STRANDLAKE_SEED'] ?? 20_261_125);

/** Bytes that repeat themselves more or less. */
function bytesOf(next: () => number, length: number): Uint8Array {
  const variety = 1 + Math.floor(next() * 256);
  return Uint8Array.from({ length }, () => Math.floor(next() * variety));
}

function outcomeOf(read: () => Uint8Array): Uint8Array | 'refused' {
  try {
    return read();
  } catch {
    return 'refused';
  }
}

describe('frames of zstd', () => {
  test('are made and read with contexts that are kept', () => {
    expect(keepsContexts()).toBe(true);
  });

  test(`are what zlib reads, whatever came before (seed ${seed})`, () => {
    const next = random(seed);
    for (const length of [0, 1, 255, 256, 32 << 10, 300_000, 5, 131_072, 131_073, 100]) {
      const plain = bytesOf(next, length);
      const frame = compressFrame(plain);
      expect(Buffer.compare(zstdDecompressSync(frame), plain)).toBe(0);
      expect(Buffer.compare(decompressFrames([frame], length), plain)).toBe(0);
    }
  });

  test(`of zlib are read together (seed ${seed})`, () => {
    const next = random(seed);
    const plain = [700, 0, 40_000, 1].map((length) => bytesOf(next, length));
    const whole = Buffer.concat(plain);
    const read = decompressFrames(
      plain.map((bytes) => zstdCompressSync(bytes)),
      whole.length,
    );
    expect(Buffer.compare(read, whole)).toBe(0);
  });

  test('of another length than was said are refused', () => {
    const frame = compressFrame(new Uint8Array(100));
    for (const length of [0, 99, 101]) expect(() => decompressFrames([frame], length)).toThrow();
  });

  test(`that are damaged are refused or of the right length, and harm no other (seed ${seed})`, () => {
    const next = random(seed);
    const plain = bytesOf(next, 2000);
    const frame = compressFrame(plain);
    let refused = 0;
    for (let round = 0; round < 300; round++) {
      const isCut = round % 2 === 0;
      const damaged = isCut
        ? frame.slice(0, Math.floor(next() * frame.length))
        : frame.map((byte) => (next() < 0.002 ? byte ^ (1 << Math.floor(next() * 8)) : byte));
      const read = outcomeOf(() => decompressFrames([damaged], plain.length));
      if (read === 'refused') refused++;
      else expect([isCut, read.length]).toEqual([false, plain.length]);
      expect(Buffer.compare(decompressFrames([frame], plain.length), plain)).toBe(0);
    }
    expect(refused).toBeGreaterThan(150);
  });
});
