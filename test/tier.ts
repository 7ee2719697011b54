import { expect } from '@jest/globals';

/*
 * A test file whose number of cases depends on the tier exists twice: `x.test.ts` contains the tests, and `x.slow.test.ts` imports it, so
 * that the tests run again with the larger numbers of the slow tier.
 */

/** Whether the running test file belongs to the slow tier. */
const isSlowTier = expect.getState().testPath?.endsWith('.slow.test.js') === true;

/** Returns the first value in the fast tier, and the second in the slow tier. */
export function byTier<T>(fast: T, slow: T): T {
  return isSlowTier ? slow : fast;
}

/** Returns the number of random cases in the tier; STRANDLAKE_CASES overrides it. */
export function caseCountByTier(fast: number, slow: number): number {
  return Number(process.env['STRANDLAKE_CASES'] ?? byTier(fast, slow));
}
