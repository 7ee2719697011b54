import { expect } from '@jest/globals';

/*
 * A test file whose cases can be few or many comes twice: `x.test.ts` holds the tests, and `x.slow.test.ts` imports them, so that
 * they run again with the larger numbers of the slow tier.
 */

/** Whether the running test file is of the slow tier. */
const isSlow = expect.getState().testPath?.endsWith('.slow.test.js') === true;

/** The first value in the fast tier, the second in the slow one. */
export function byTier<T>(fast: T, slow: T): T {
  return isSlow ? slow : fast;
}

/** Number of random cases of the tier; STRANDLAKE_CASES overrides it. */
export function casesByTier(fast: number, slow: number): number {
  return Number(process.env['STRANDLAKE_CASES'] ?? byTier(fast, slow));
}
