import type { Facet } from '../../request/facets.js';

/** A facet that is answered from how often each value or bin is there: all but statistics. */
export type BucketedFacet = Exclude<Facet, { kind: 'stats' }>;

/**
 * What one thread has counted: plain data that crosses to the main thread, as few large arrays. Groups are numbered from 0; in a
 * facet that stands under no other, all values belong to group 0 above it.
 */
export type Partial = BucketsPartial | StatsPartial;

/** The different values (or bins) of a field among the records of each group, and how often they are there. */
export interface BucketsPartial {
  readonly kind: 'buckets';
  readonly keys: PartialKeys;
  /** Of each bucket, the number of its key; undefined: they are numbered like the keys. */
  readonly keyOf: Uint32Array | undefined;
  /** Of each bucket, the bucket above; undefined: there is none above. */
  readonly parents: Uint32Array | undefined;
  /** Of each bucket; 0 says that it is none. */
  readonly counts: Uint32Array;
  readonly nested: readonly Partial[];
}

/** Keys: numbers, or texts one behind the other, key i being `joined` up to ends[i]. No number is there twice, a text may be. */
export type PartialKeys =
  | { readonly kind: 'numbers'; readonly numbers: Float64Array }
  | { readonly kind: 'texts'; readonly joined: string; readonly ends: Uint32Array };

/**
 * Sums for each bucket above, in the order of its number. A sum is the exact sum of two doubles; with whole numbers that is the
 * exact sum of the values, with others it is exact but for roundings of the second double.
 */
export interface StatsPartial {
  readonly kind: 'stats';
  readonly counts: Float64Array;
  readonly smallest: Float64Array;
  readonly largest: Float64Array;
  readonly sums: Float64Array;
  readonly sumRests: Float64Array;
  /** Only of extended statistics. */
  readonly spread: StatsSpread | undefined;
}

/** Sums of squares: of the values, and of their distances from the mean. */
export interface StatsSpread {
  readonly squares: Float64Array;
  readonly squareRests: Float64Array;
  readonly means: Float64Array;
  readonly distances: Float64Array;
}
