/** The old place of the pool of buffers. */
export * from '../buffers.js';
