import type { Facet } from '../request/facets.js';
import type { SegmentRows } from '../plan/executor.js';
import type { Predicate } from '../predicate/predicate.js';
import type { Projected } from '../results/projection.js';
import type { OrderKey } from '../request/request.js';
import type { Columns } from '../../core/types.js';
import type { FacetPartial } from './facets/partial.js';
import type { Candidate } from './top-rows.js';
import type { FoundTerms } from './terms.js';

/** A version of a dataset as a shard has to know it: the segments that are this shard's. */
export interface ShardSnapshot {
  /** The same for all shards. */
  readonly key: number;
  readonly datasetId: number;
  readonly columns: Columns;
  readonly segments: readonly ShardSegment[];
}

/** A segment of a snapshot. */
export interface ShardSegment {
  /** Its number in the snapshot. */
  readonly number: number;
  /** Absolute. */
  readonly path: string;
  readonly rows: number;
}

/** What is asked of some segments of a snapshot. */
export interface ShardQuery {
  readonly snapshot: number;
  /** Numbers of segments, ascending; those of other shards are passed over. */
  readonly segments: Uint32Array;
  readonly predicate: Predicate;
  /** Empty: records come in the order in which they were stored. */
  readonly ordering: readonly OrderKey[];
  /** How many of the records that come first are wanted, */
  readonly first: number;
  /** of those behind this one: the number of a segment, and of a row in it. */
  readonly after?: readonly [segment: number, row: number];
  /** True: nobody wants the counts, so that nothing more is looked at when the first records have been found. */
  readonly isUncounted?: boolean;
  readonly facets: readonly Facet[] | null;
  /** By the number of the segment, what the index of words has found. */
  readonly words?: ReadonlyMap<number, FoundTerms> | undefined;
  /** Whether all records that match are wanted too. */
  readonly isListed?: boolean;
  /** Which records satisfy these is wanted with them. */
  readonly sides?: readonly Predicate[];
}

/** A shard's part of an answer. */
export interface ShardAnswer {
  /** Pairs: the number of a segment, and how many of its records match. */
  readonly counts: Float64Array;
  /** Without an ordering, pairs: the number of a segment, and of a row in it; at most `first`, ascending. */
  readonly rows: Float64Array;
  /** With an ordering: at most `first`, in order. */
  readonly candidates: readonly Candidate[];
  /** None were asked for: empty. */
  readonly facets: readonly FacetPartial[];
  /** If they are wanted: the records of each segment that match, none left out. */
  readonly listed: readonly SegmentRows[];
}

/** Records of one segment to render. */
export interface ShardRecords {
  readonly segment: number;
  readonly rows: readonly number[];
}

/** To a shard. */
export type ToShard =
  | { readonly kind: 'snapshot'; readonly snapshot: ShardSnapshot }
  | { readonly kind: 'forget'; readonly snapshot: number }
  | { readonly kind: 'select'; readonly id: number; readonly query: ShardQuery }
  | {
      readonly kind: 'records';
      readonly id: number;
      readonly snapshot: number;
      readonly records: readonly ShardRecords[];
      readonly projection: readonly Projected[];
    }
  | { readonly kind: 'cancel'; readonly id: number };

/** From a shard: an answer, or why there is none. */
export type FromShard =
  | { readonly id: number; readonly answer: ShardAnswer }
  /** In the order asked. */
  | { readonly id: number; readonly texts: readonly string[] }
  /** The data show that the memory executor cannot answer: why. */
  | { readonly id: number; readonly unsupported: string }
  | { readonly id: number; readonly problem: ShardProblem };

/** An error of engine/core/errors.ts as plain data. */
export interface ShardProblem {
  readonly code: string;
  readonly message: string;
  readonly fields?: unknown;
}
