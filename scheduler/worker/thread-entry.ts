/*
 * The entry point of a thread of the pool, which runs the jobs by their names. It is separate from `thread.ts`, because other modules
 * import that one and none may import an entry point.
 */

export * from './thread.js';
