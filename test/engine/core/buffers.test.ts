import { expect, test } from '@jest/globals';
import {
  acquireUncountedBuffer,
  freeArray,
  releaseUncountedBuffer,
} from '../../../engine/core/buffers.js';

const poolBytes = 64 << 20;

/** Acquires buffers that together fill the pool, and releases them. */
function fillPool<T extends Float64Array | Int32Array>(
  type: new (length: number) => T,
  length: number,
): Set<T> {
  const count = poolBytes / new type(length).byteLength;
  const buffers = Array.from({ length: count }, () => acquireUncountedBuffer(type, length));
  for (const buffer of buffers) releaseUncountedBuffer(buffer);
  return new Set(buffers);
}

test('a full pool keeps the buffers of the lengths that are used', () => {
  const unusedBuffers = fillPool(Float64Array, 1 << 18);
  const usedBuffers = fillPool(Int32Array, 1 << 16);
  for (let round = 0; round < 3; round++) {
    const reacquiredBuffers = fillPool(Int32Array, 1 << 16);
    expect([...reacquiredBuffers].filter((buffer) => !usedBuffers.has(buffer))).toEqual([]);
  }
  const longBuffer = acquireUncountedBuffer(Float64Array, 1 << 18);
  expect(unusedBuffers.has(longBuffer)).toBe(false);
});

test('a buffer is reused for a shorter length, and not for a longer one', () => {
  const buffer = acquireUncountedBuffer(BigInt64Array, 1 << 20);
  releaseUncountedBuffer(buffer);
  expect(acquireUncountedBuffer(BigInt64Array, (1 << 20) + 1)).not.toBe(buffer);
  expect(acquireUncountedBuffer(BigInt64Array, 1000)).toBe(buffer);
});

test('the memory of an array is freed, unless another array may share it', () => {
  const own = new Uint8Array(8);
  freeArray(own);
  expect(own.byteLength).toBe(0);
  const part = new Uint8Array(8).subarray(1);
  freeArray(part);
  expect(part.byteLength).toBe(7);
});
