/* The entry of a thread of the pool, which runs the jobs by their names. A module of its own, because others import `thread.ts`, and none may import an entry. */

export * from './thread.js';
