/**
 * The seed of random test inputs that are new in each run: the time, or `STRANDLAKE_FRESH_SEED`. Continuous integration derives the
 * variable from the commit, so that another run of a commit repeats its inputs, and each commit tries new ones.
 */
export const freshSeed = Number(process.env['STRANDLAKE_FRESH_SEED'] ?? Date.now() % 1_000_000_007);

/** The seed of a randomised test: `STRANDLAKE_SEED` to repeat a run, or else a new seed. */
export const seed = Number(process.env['STRANDLAKE_SEED'] ?? freshSeed);
