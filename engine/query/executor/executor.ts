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

/** The part of a request that determines the matching records, their order, the page and the facets. */
export type Selection = Pick<
  QueryRequest,
  'predicate' | 'scoreClauses' | 'ordering' | 'offset' | 'limit' | 'facets' | 'cursor'
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
   * The cursor position after the last row of the page. It may be absent if the selection has no cursor, if the row itself determines the
   * position, and on an empty page.
   */
  readonly position?: Position | undefined;
  /** The records of the page in the layout of the selection, if the executor returned them with the rows. */
  readonly records?: PageRecords | undefined;
  /** How the segments were read; absent if the executor does not report it. */
  readonly access?: SegmentAccess | undefined;
}

/** The numbers of segments, by what determined their matching rows. */
export interface SegmentAccess {
  /** Segments that were skipped, because by the bounds of the first sort key in the log none of their rows can be on the page. */
  readonly bounds: number;
  /** Segments without a match, by the Bloom filters or null counts of their row groups. */
  readonly filters: number;
  /** Segments of which few pages, or the rows of few pages, were evaluated, by the statistics of the pages. */
  readonly pages: number;
  /** Segments of which those pages were evaluated that their statistics and a search of their bytes had not excluded. */
  readonly searches: number;
  /** Segments that were evaluated as a whole, with a hash table of a column that was in memory. */
  readonly hashes: number;
  /** All other segments that were evaluated as a whole. */
  readonly columns: number;
}

/**
 * Matching rows of one segment: `all`, only if no row is deleted, or a list of numbers. The list ascends, unless a `sort` step has sorted
 * rows whose row ids do not ascend.
 */
export interface SegmentRows {
  readonly segment: number;
  readonly rows: 'all' | Int32Array;
}

/** A batch of matching records: rows of one segment, or rows of any segments in the order of the answer. */
export type RowBatch = SegmentRows | { readonly refs: readonly RowRef[] };

/**
 * Carries out steps of plans that find records. All executors (the log, the text index, columns in memory, SQL) that support a selection
 * give the same answer. Errors are `AppError`s: `canceled`, `budget`, `damaged`, and `invalid` for a pattern.
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
   * Returns the total, the page's rows and the facets. The conditions in `selection.scores` that `conditionsToWeigh` returns must have
   * weights, unless the executor is the text index, which weighs them itself.
   */
  select(
    snapshot: Snapshot,
    selection: Selection,
    options: RunOptions,
  ): Promise<SelectedRows | Unsupported>;
  /** Returns the rows of a page of any size in batches; `facets` and `cursor` are ignored. Absent for executors that plans do not ask. */
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
   * Returns the inspector that answers the requests of `explain` about a query with this predicate. Absent for executors that `explain`
   * does not ask.
   */
  inspect?(snapshot: Snapshot, predicate: Predicate, options: RunOptions): RecordInspector;
}
