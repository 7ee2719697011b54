import { afterEach, expect } from '@jest/globals';
import { outstandingBuffers } from '../engine/core/buffers.js';

/**
 * Checks that each test of the calling file releases every buffer that it acquires. Earlier test files in the process may have kept some.
 */
export function checkBuffersReleased(): void {
  const before = outstandingBuffers();
  afterEach(() => expect(outstandingBuffers()).toBe(before));
}
