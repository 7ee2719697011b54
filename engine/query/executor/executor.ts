import type { RowRef, Snapshot } from '../../store/store.js';
import type { ExplainGroup } from '../request/condition-node.js';
import type { Predicate, ScoredCondition } from '../predicate/predicate.js';
import type { QueryRequest } from '../request/query-request.js';
import type { PageLayout, PageRecords } from '../results/page-format.js';
import type { Position } from '../request/position.js';
import type { ConditionWeights } from '../text/relevance.js';
import type { Unsupported } from '../unsupported.js';
import type { RunOptions } from './run-options.js';
import type { CountsByNode, RecordInspector } from './record-inspector.js';

/** The part of a request that selects records, without the projection. */
export type Selection = Pick<
  QueryRequest,
  'predicate' | 'scores' | 'ordering' | 'offset' | 'limit' | 'facets' | 'cursor'
> & {
  /** The layout of the page, if the executor may return records with the rows. */
  readonly layout?: PageLayout;
};

/** The number of matching records, and the rows of the page. */
export interface SelectedRows {
  readonly total: number;
  readonly rows: readonly RowRef[];
  /** One JSON text per facet, in the order of the request; null if no facets were requested, or if a `facets` step finds them. */
  readonly facets: readonly string[] | null;
  /**
   * The cursor position after the last row of the page, if the selection has a cursor; absent if the row itself determines it, and on an
   * empty page.
   */
  readonly position?: Position | undefined;
  /** The records of the page in the layout of the selection; absent unless the executor returned them with the rows. */
  readonly records?: PageRecords | undefined;
  /** How the segments were read; absent if the executor does not report it. */
  readonly access?: SegmentAccess | undefined;
}

/** The numbers of segments, by what determined their matching rows. */
export interface SegmentAccess {
  /** Segments whose rows all sort after those of the page, by the bounds of the sort key in the log. */
  readonly bounds: number;
  /** Segments without a match, by a Bloom filter. */
  readonly filters: number;
  /** Segments of which few pages, or the rows of few pages, were evaluated, by the bounds of the pages. */
  readonly pages: number;
  /** Segments of which those pages were evaluated in which a search of their bytes had found something. */
  readonly searches: number;
  /** Segments in which the hash table of a column in memory found the values. */
  readonly hashes: number;
  /** Segments of which whole columns were evaluated. */
  readonly columns: number;
}

/**
 * The matching rows of one segment: all, if none is deleted, or a list of row numbers. The list ascends, unless a `sort` step has sorted
 * rows whose row ids do not ascend.
 */
export interface SegmentRows {
  readonly segment: number;
  readonly rows: 'all' | Int32Array;
}

/** A batch of matching records: rows of one segment in insertion order, or rows in the order of the answer. */
export type RowBatch = SegmentRows | { readonly refs: readonly RowRef[] };

/**
 * Carries out steps of plans that find records. The executors (the log, the text index, columns in memory, SQL) are independent of each
 * other, and give the same answers to everything that several support. Errors are `AppError`s: `canceled`, `budget`, `damaged`, and
 * `invalid` for a pattern.
 */
export interface Executor {
  /**
   * Returns why the executor does not support a selection, as far as the schema shows; undefined if it does. `selection.scores` is empty if
   * relevance does not decide the order. Absent for executors that support every selection that a plan gives them.
   */
  unsupportedReason?(selection: Selection, snapshot: Snapshot): string | undefined;
  /** Returns how rare conditions are among all records, as weights. Absent for executors that plans do not ask. */
  weigh?(
    snapshot: Snapshot,
    conditions: readonly ScoredCondition[],
    options: RunOptions,
  ): Promise<ConditionWeights | Unsupported>;
  /**
   * Returns the total, the page's rows and the facets. `selection.scores` must be empty or have their weights, unless the executor weighs
   * itself.
   */
  select(
    snapshot: Snapshot,
    selection: Selection,
    options: RunOptions,
  ): Promise<SelectedRows | Unsupported>;
  /** Yields the rows of a page of any size in batches; `facets` and `cursor` are ignored. Absent for executors that plans do not ask. */
  find?(
    snapshot: Snapshot,
    selection: Selection,
    options: RunOptions,
  ): Promise<AsyncIterable<RowBatch> | Iterable<RowBatch>>;
  /**
   * Counts the records that the nodes of a tree of conditions match, as in `RecordInspector`. Absent for executors that `explain` does not
   * ask.
   */
  countNodes?(
    snapshot: Snapshot,
    root: ExplainGroup,
    options: RunOptions,
  ): Promise<CountsByNode | Unsupported>;
  /**
   * Returns what answers the questions of `explain` about a query with this predicate. Absent for executors that `explain` does not ask.
   */
  inspect?(snapshot: Snapshot, predicate: Predicate, options: RunOptions): RecordInspector;
}
