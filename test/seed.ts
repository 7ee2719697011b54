/**
 * The seed of what a randomised test invents on this run: the time, or `STRANDLAKE_FRESH_SEED`. Continuous integration sets that one
 * from the commit, so that running a commit again repeats its inputs and every commit tries others.
 */
export const freshSeed = Number(process.env['STRANDLAKE_FRESH_SEED'] ?? Date.now() % 1_000_000_007);

/** The seed of a randomised test: the one to replay, `STRANDLAKE_SEED`, or a fresh one. */
export const seed = Number(process.env['STRANDLAKE_SEED'] ?? freshSeed);
