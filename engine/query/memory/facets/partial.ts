import type { Facet } from '../../request/facets.js';

/** A facet that is answered by the counts of keys: every kind except statistics. */
export type BucketedFacet = Exclude<Facet, { kind: 'stats' }>;

/**
 * What one thread has aggregated for a facet: plain data of few large arrays, sent to the main thread. Buckets are numbered from
 * 0; the values of a top-level facet have the parent 0.
 */
export type FacetPartial = PartialBuckets | StatsPartial;

/** The buckets of a facet, a key (a value or a bin) below a parent bucket, and their counts. */
export interface PartialBuckets {
  readonly kind: 'buckets';
  readonly keys: PartialKeys;
  /** For each bucket, the number of its key; undefined if bucket i has key i. */
  readonly keyOf: Uint32Array | undefined;
  /** For each bucket, its parent; undefined for a top-level facet. */
  readonly parents: Uint32Array | undefined;
  /** Number of rows of each bucket; a bucket with 0 is not part of the answer. */
  readonly counts: Uint32Array;
  readonly nested: readonly FacetPartial[];
}

/** Keys: distinct numbers, or strings that are joined to one: string i ends at `ends[i]`. A string may occur twice. */
export type PartialKeys =
  | { readonly kind: 'numbers'; readonly numbers: Float64Array }
  | { readonly kind: 'strings'; readonly joined: string; readonly ends: Uint32Array };

/**
 * Statistics for each parent bucket, by its number. A sum is the exact sum of two doubles, `sums` and `sumRests`: exact for
 * integers; for doubles it is exact except for the rounding of the second.
 */
export interface StatsPartial {
  readonly kind: 'stats';
  readonly counts: Float64Array;
  readonly smallest: Float64Array;
  readonly largest: Float64Array;
  readonly sums: Float64Array;
  readonly sumRests: Float64Array;
  /** Present for extended statistics only. */
  readonly spread: StatsSpread | undefined;
  /** The huge values of each group; most groups have none. */
  readonly huge: ReadonlyMap<number, HugeValues>;
}

/** Sums of the squares of the values, and for each group a `Spread` (double-double.ts). */
export interface StatsSpread {
  readonly squares: Float64Array;
  readonly squareRests: Float64Array;
  /** For each group, one of its values; NaN without any. */
  readonly pivots: Float64Array;
  readonly offs: Float64Array;
  readonly offRests: Float64Array;
  readonly offSquares: Float64Array;
  readonly offSquareRests: Float64Array;
}

/** Values so large that sums of them may overflow. They are part of the counts, minima and maxima, and of no other sum. */
export interface HugeValues {
  count: number;
  /** The sum times 2^1074, as an integer. */
  sum: bigint;
  /** The sum of squares times 2^2148, as an integer. */
  squares: bigint;
}
