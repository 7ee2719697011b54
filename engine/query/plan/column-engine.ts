import type { Snapshot } from '../../store/store.js';
import type { Facet } from '../request/facets.js';
import type { RunOptions } from './guard.js';
import type { Predicate } from '../predicate/predicate.js';
import type { Projected } from '../results/projection.js';
import type { OrderKey } from '../request/request.js';

/** A record of a snapshot: the number of its segment, and of its row in it. */
export type Place = readonly [segment: number, row: number];

/** What is asked of the records that match. */
export interface Selection {
  readonly predicate: Predicate;
  /** Empty: in the order in which the records were stored. */
  readonly ordering: readonly OrderKey[];
  readonly offset: number;
  readonly limit: number;
  readonly facets: readonly Facet[] | null;
  /** Only records behind this one, in the order in which they were stored; the total is of all the same. */
  readonly after?: Place;
  /** All records that match are wanted too. */
  readonly isListed?: boolean;
  /** Of these conditions it is wanted, too, which records of the segments satisfy them. */
  readonly marks?: readonly Predicate[];
  /** The total, if it is known already; then no more is looked at than the page takes. */
  readonly total?: number;
}

/** How many match, and which of them are the page. */
export interface Selected {
  readonly total: number;
  readonly places: readonly Place[];
  /** JSON texts in the order of the facets; null if none were asked for. */
  readonly facets: readonly string[] | null;
  /** If they were asked for: the records that match, by segment, ascending; segments without one are left out. */
  readonly listed?: readonly ListedRows[];
}

/** Rows of a segment, by its number: all of them, their numbers ascending, or their bits (text/bits.ts). */
export interface ListedRows {
  readonly segment: number;
  readonly rows: 'all' | Int32Array | Uint8Array;
  /** In the same form, all rows of the segment that satisfy each of the marks. */
  readonly marks?: readonly ListedRows['rows'][];
}

/**
 * Answers from columns in memory what it can (engine/query/memory); the SQL engine answers the rest, and both give the same answers.
 * Everything is undefined where a question, or a file, is not covered.
 */
export interface ColumnEngine {
  select(
    snapshot: Snapshot,
    selection: Selection,
    options: RunOptions,
  ): Promise<Selected | undefined>;
  /** The JSON texts of records, in the order of the places. */
  records(
    snapshot: Snapshot,
    places: readonly Place[],
    projection: readonly Projected[],
    options: RunOptions,
  ): Promise<readonly string[] | undefined>;
  close(): Promise<void>;
}
