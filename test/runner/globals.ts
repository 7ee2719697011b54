import type * as jestGlobals from '@jest/globals';

/** Those bindings of `@jest/globals` that the test files use. */
export type JestGlobals = Pick<
  typeof jestGlobals,
  'afterAll' | 'afterEach' | 'beforeAll' | 'beforeEach' | 'describe' | 'expect' | 'test'
>;

/* The bindings of the module `@jest/globals` for test files. Each test file of a process sets them anew. */
export let afterAll: JestGlobals['afterAll'];
export let afterEach: JestGlobals['afterEach'];
export let beforeAll: JestGlobals['beforeAll'];
export let beforeEach: JestGlobals['beforeEach'];
export let describe: JestGlobals['describe'];
export let expect: JestGlobals['expect'];
export let test: JestGlobals['test'];

/** Sets the bindings of `@jest/globals` for the test file that is loaded next. */
export function setGlobals(values: JestGlobals): void {
  ({ afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } = values);
}
