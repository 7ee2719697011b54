/*
 * The entry point of a thread of the pool, which runs the jobs by their names. It is separate from `job-thread.ts`, because other modules
 * import `job-thread.ts`, and no module may import an entry point.
 */

export * from './job-thread.js';
