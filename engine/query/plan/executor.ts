import type { Snapshot } from '../../store/store.js';
import type { QueryRequest } from '../request/request.js';
import type { PageLayout, PageRecords } from '../results/page-format.js';
import type { Position } from './position.js';
import type { Unsupported } from '../unsupported.js';
import type { RunOptions } from './limits.js';

/** A record of a snapshot: the index of its segment in `snapshot.segments`, and the number of its row in that segment. */
export type RowRef = readonly [segment: number, row: number];

/** The part of a request that selects records, without the projection. */
export type Selection = Pick<
  QueryRequest,
  'predicate' | 'scores' | 'ordering' | 'offset' | 'limit' | 'facets' | 'cursor'
> & {
  /** The layout of the page, if an executor may return records along with rows. */
  readonly layout?: PageLayout;
};

/** The number of matching records, and the rows of the page. */
export interface SelectedRows {
  readonly total: number;
  readonly rows: readonly RowRef[];
  /** One JSON text per facet, in the order of the request; null if no facets were requested. */
  readonly facets: readonly string[] | null;
  /** The cursor position after the last row of the page; absent where the row determines it, and on an empty page. */
  readonly position?: Position | undefined;
  /** The records of the page in the layout of the selection; absent unless the executor has returned them with the rows. */
  readonly records?: PageRecords | undefined;
  /** How the segments were read; absent if the executor does not report it. */
  readonly access?: SegmentAccess | undefined;
}

/** The number of segments that Bloom filters ruled out, that were evaluated on single pages, and that were evaluated on whole columns. */
export interface SegmentAccess {
  readonly filters: number;
  readonly pages: number;
  readonly columns: number;
}

/** Rows of a segment: all, ascending numbers, or one bit per row (engine/text/bitmap.ts). */
export type RowSet = 'all' | Int32Array | Uint8Array;

/** The matching rows of one segment. */
export interface SegmentRows {
  readonly segment: number;
  readonly rows: RowSet;
}

/** A batch of matching records: rows of one segment in insertion order, or rows in the order of the answer. */
export type RowBatch = SegmentRows | { readonly refs: readonly RowRef[] };

/**
 * Finds records. There are two executors, columns in memory and SQL, which know nothing of each other; for everything that both
 * support they give the same answers. Errors are `AppError`s: `canceled`, `budget`, `damaged`, `invalid` for a pattern.
 */
export interface Executor {
  /** The total, the page's rows and the facets. `selection.scores` is empty or has its weights. */
  select(
    snapshot: Snapshot,
    selection: Selection,
    options: RunOptions,
  ): Promise<SelectedRows | Unsupported>;
  /** The rows of the page in batches, for pages of any size; `facets` and `cursor` are ignored. */
  find(
    snapshot: Snapshot,
    selection: Selection,
    options: RunOptions,
  ): Promise<AsyncIterable<RowBatch> | Unsupported>;
}
