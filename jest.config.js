/** Tests run on what tsc built (TypeScript 7 has no compiler API for ts-jest), so build first. */
export default {
  roots: ['<rootDir>/dist/test'],
  testMatch: ['**/*.test.js'],
  transform: {},
  testEnvironment: 'node',
  testTimeout: 60_000,
  maxWorkers: 2,
  // What test files leave behind adds up to gigabytes, in which collecting garbage takes longer than the tests.
  workerIdleMemoryLimit: '1GB',
  reporters: ['default', '<rootDir>/dist/test/reporter.js'],
};
