/**
 * The estimated cost of evaluating a predicate over columns in memory on one core. The planner and the order of conditions inside an
 * `and` use this one estimate.
 */
export interface Cost {
  /** Nanoseconds per record. Measured on 5 million records of variants: 5 ms are 1 ns per record. */
  readonly perRow: number;
  /** Nanoseconds per query, whatever the number of records. */
  readonly once: number;
}

/** Costs of the basic operations, in nanoseconds per record. */
export const nsPerRow = {
  /** Reads whether there is a value, or the rows that an index found. */
  presence: 0.2,
  /** Compares dictionary indices, or looks up hashes of strings: 1.5 to 6 ms. */
  equality: 0.8,
  /** Comparing numbers: 4 to 6 ms. */
  numbers: 1,
  /** Compares the first bytes of every string: 15 ms. */
  prefix: 3,
  /** Makes a table of the hashes of strings: 110 ms. */
  hashing: 22,
  /** Compares strings byte by byte from the start: 30 ms. */
  order: 6,
  /** Searches all bytes of the strings, 55 MB, and maps hits to rows: 40 to 50 ms. */
  scan: 10,
  /** Parses the strings of regions: 60 ms. */
  region: 12,
  /** Searches all bytes in any letter case, and splits candidates into terms: 80 ms. */
  terms: 16,
  /** Searches for the literal part of a pattern, and runs the pattern on up to 250,000 candidates: 100 ms. */
  pattern: 20,
} as const;

/** The cost of a condition without preparation. */
export function rowCost(perRow: number): Cost {
  return { perRow, once: 0 };
}

/** The sum of several costs. */
export function sumOf(costs: readonly Cost[]): Cost {
  return {
    perRow: costs.reduce((sum, { perRow }) => sum + perRow, 0),
    once: costs.reduce((sum, { once }) => sum + once, 0),
  };
}
