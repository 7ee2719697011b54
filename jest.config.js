/**
 * Jest runs the modules that `npm run build` has compiled. This configuration finds the tests
 * of both tiers; `npm test` leaves out the slow ones (`*.slow.test.ts`), see setup.mjs.
 */
export default {
  roots: ['<rootDir>/dist/test'],
  testMatch: ['**/*.test.js'],
  transform: {},
  testEnvironment: '<rootDir>/dist/test/runner/environment.js',
  runtime: '<rootDir>/dist/test/runner/runtime.js',
  // Ends a test that hangs, and nothing else: a busy machine must not reach it. No test sets a limit of its own.
  testTimeout: 900_000,
  maxWorkers: 2,
  // Test files leave gigabytes of garbage in a process, and collecting it takes longer than starting another process.
  workerIdleMemoryLimit: '1GB',
  // When all tests are done, a process frees its memory; on a busy machine that takes longer than Jest's half second. One that
  // still has something open is reported after this time, in milliseconds.
  workerGracefulExitTimeout: 60_000,
  reporters: ['<rootDir>/dist/test/reporter.js', 'summary'],
};
