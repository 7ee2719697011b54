import { afterEach, expect } from '@jest/globals';
import { outstandingBuffers } from '../engine/core/buffers.js';

/** Checks that each test of the file that calls this releases every buffer that it acquires. Earlier files of the process may have kept some. */
export function checkBuffers(): void {
  const before = outstandingBuffers();
  afterEach(() => expect(outstandingBuffers()).toBe(before));
}
