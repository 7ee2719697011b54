/**
 * The estimated cost of evaluating a predicate over columns in memory on one core. It decides which queries are heavy, the order of the
 * items of an `and` or `or`, and whether single pages of a segment are evaluated.
 */
export interface ConditionCost {
  /** Nanoseconds per record. Measured on 5 million records of variants, for which 5 ms are 1 ns per record. */
  readonly perRow: number;
  /** Nanoseconds per query, whatever the number of records. */
  readonly once: number;
}

/** Costs of the basic operations, in nanoseconds per record; the comments give the times measured on 5 million records. */
export const nsPerRow = {
  /** Tests whether a value is present, or uses the rows that an index found. */
  presence: 0.2,
  /** Compares dictionary indices, or looks up hashes of strings: 1.5 to 6 ms for 5 million records. */
  equality: 0.8,
  /** Compares numbers: 4 to 6 ms for 5 million records. */
  numbers: 1,
  /** Compares the first bytes of every string: 15 ms for 5 million records. */
  prefix: 3,
  /** Builds a hash table of strings: 110 ms for 5 million records. */
  hashing: 22,
  /** Compares strings byte by byte from the start: 30 ms for 5 million records. */
  order: 6,
  /** Searches all 55 MB of the strings of 5 million records, and maps hits to rows: 40 to 50 ms. */
  scan: 10,
  /** Parses the strings of regions: 60 ms for 5 million records. */
  region: 12,
  /** Searches the bytes of strings in any letter case, and splits candidates into terms: 80 ms for 5 million records. */
  terms: 16,
  /** Searches 5 million strings for the literal part of a pattern, and runs the pattern on up to 250,000 candidates: 100 ms. */
  pattern: 20,
} as const;

/** Returns the cost of a condition that needs no preparation per query. */
export function rowCost(perRow: number): ConditionCost {
  return { perRow, once: 0 };
}

/** Returns the sum of several costs. */
export function sumOfCosts(costs: readonly ConditionCost[]): ConditionCost {
  return {
    perRow: costs.reduce((sum, { perRow }) => sum + perRow, 0),
    once: costs.reduce((sum, { once }) => sum + once, 0),
  };
}
