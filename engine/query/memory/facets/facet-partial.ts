import type { Facet } from '../../request/facet-request.js';

/** A facet whose answer is computed from counts of keys: every kind except statistics. */
export type BucketedFacet = Exclude<Facet, { kind: 'stats' }>;

/**
 * What one thread has aggregated for a facet: plain data in a few large arrays, sent to the main thread. Buckets are numbered from 0; the
 * values of a top-level facet have the parent 0.
 */
export type FacetPartial = PartialBuckets | StatsPartial;

/** The buckets of a facet and their counts. A bucket is a key (a value or a bin) below a parent bucket. */
export interface PartialBuckets {
  readonly kind: 'buckets';
  readonly keys: PartialKeys;
  /** For each bucket, the number of its key; undefined if bucket i has key i for all i. */
  readonly keyOf: Uint32Array | undefined;
  /** For each bucket, the number of its parent bucket; undefined for a top-level facet without nested facets. */
  readonly parents: Uint32Array | undefined;
  /**
   * Number of rows of each bucket (for a list of numbers, of values unless the facet is of the kind `terms`); a bucket with 0 is not part
   * of the answer.
   */
  readonly counts: Uint32Array;
  readonly nested: readonly FacetPartial[];
}

/** Keys: distinct numbers, or strings concatenated to one, of which string i ends at `ends[i]`. A string may occur twice. */
export type PartialKeys =
  | { readonly kind: 'numbers'; readonly numbers: Float64Array }
  | { readonly kind: 'strings'; readonly joined: string; readonly ends: Uint32Array };

/**
 * Statistics for each parent bucket, by its number. A sum is the sum of two doubles, `sums` and `sumRests`: exact for integers; for doubles
 * exact except for the rounding of `sumRests`.
 */
export interface StatsPartial {
  readonly kind: 'stats';
  readonly counts: Float64Array;
  readonly smallest: Float64Array;
  readonly largest: Float64Array;
  readonly sums: Float64Array;
  readonly sumRests: Float64Array;
  /** The sums from which the variance of the values is computed; present for extended statistics only. */
  readonly moments: StatsMomentSums | undefined;
  /** The huge values of each group (parent bucket); most groups have none. */
  readonly huge: ReadonlyMap<number, HugeValues>;
}

/** Per group (parent bucket), the sum of the squares of the values, and the members of `ShiftedMoments` except `count`. */
export interface StatsMomentSums {
  readonly squares: Float64Array;
  readonly squareRests: Float64Array;
  /** For each group, one of its values that are not huge; NaN for a group without such values. */
  readonly pivots: Float64Array;
  readonly deviationSums: Float64Array;
  readonly deviationSumRests: Float64Array;
  readonly squaredDeviationSums: Float64Array;
  readonly squaredDeviationSumRests: Float64Array;
}

/**
 * Values so large that sums of them or of their squares may overflow. They count in the numbers of values, minima and maxima of
 * `StatsPartial`, but not in its sums.
 */
export interface HugeValues {
  count: number;
  /** The sum of the huge values times 2^1074, as an integer. */
  sum: bigint;
  /** The sum of the squares of the huge values times 2^2148, as an integer. */
  squares: bigint;
}
