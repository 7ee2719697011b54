/*
 * The entry point of a thread of the pool, which runs the jobs by their names. It is separate from `thread.ts`, because other modules
 * import `thread.ts`, and no module may import an entry point.
 */

export * from './thread.js';
