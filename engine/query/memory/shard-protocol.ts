import type { ChecksummedFile } from '../../core/block-checksums.js';
import type { Facet } from '../request/facet-request.js';
import type { SegmentAccess } from '../executor/executor.js';
import type { RowRef } from '../../store/store.js';
import type { FieldRef, Predicate } from '../predicate/predicate.js';
import type { PageFormat, PageRecords } from '../results/page-format.js';
import type { ProjectedColumn } from '../results/projection.js';
import type { OrderKey } from '../request/query-request.js';
import type { Columns } from '../../core/types.js';
import type { DeletionVector } from '../../store/deletion-vector.js';
import type { FieldStatistics } from '../../text/bm25.js';
import type { FoldedTerms } from '../../text/column-matcher.js';
import type { FacetPartial } from './facets/facet-partial.js';
import type { RankedTexts, TextSearch } from '../../text/ranked-search.js';
import type { RankedRow } from '../../text/ranking.js';
import type { Relevance } from './ranked-rows.js';
import type { KeyBound, PackedTopRows } from './top-rows.js';
import type { Unsupported } from '../unsupported.js';

/** A version of a dataset, with only the segments that are assigned to one shard. */
export interface ShardSnapshot {
  /** Identifies the snapshot; the same number for all shards. */
  readonly key: number;
  readonly datasetId: number;
  readonly columns: Columns;
  readonly segments: readonly ShardSegment[];
}

/** A segment of a snapshot; its path is absolute. */
export interface ShardSegment extends ChecksummedFile {
  /** The index of the segment in the snapshot. */
  readonly number: number;
  readonly rows: number;
  /** Whether variants name their positions, as in `Segment`. */
  readonly areVariantsPlaced: boolean;
  /** The deleted rows, as in `Segment`. */
  readonly deletion?: DeletionVector | undefined;
  /** The row id of the segment's first row, as in `Segment`. */
  readonly baseRowId?: number | undefined;
}

/** A query over some segments of a snapshot. */
export interface ShardQuery {
  readonly snapshot: number;
  /** Numbers of segments, ascending. A shard skips segments that are assigned to other shards. */
  readonly segments: Uint32Array;
  /** The first segment of the query that is assigned to another shard; `Infinity` if there is none. */
  readonly firstOtherSegment: number;
  /** The number of shards that receive the query. */
  readonly shardCount: number;
  readonly predicate: Predicate;
  /** The sort keys; if empty, rows come in the order of the segments. The last key may be `rowIdKey` (top-rows.ts). */
  readonly ordering: readonly OrderKey[];
  /** The bound of the first sort key in each of `segments`; absent if bounds are not used. */
  readonly keyBounds?: readonly KeyBound[];
  /** Maximum number of rows in the answer, the first ones in order; not of the ranked rows of `relevance`. */
  readonly first: number;
  /** The last row of the previous page in segment order: the rows of the answer are later ones. Only without an ordering. */
  readonly after?: readonly [segment: number, row: number];
  /**
   * The row id of the last row of the previous page: the rows of the answer have greater row ids. Used only if `rowIdKey` is the only sort
   * key.
   */
  readonly afterRowId?: number;
  /** True if the counts are not needed: without an ordering, the shard stops when it has found the first rows. */
  readonly isUncounted?: boolean;
  readonly facets: readonly Facet[] | null;
  /** If present, the rows of the page come in order of relevance; `ordering` is then empty, and `first` is 0. */
  readonly relevance?: Relevance;
  /** The requested page; if it is present, the answer may include records. */
  readonly page?: ShardPage;
}

/** The range of rows that a page takes of all matching rows in order, and the layout of their records. */
interface ShardPage extends ShardLayout {
  readonly offset: number;
  readonly limit: number;
}

/** The layout of records (`PageLayout`). */
export interface ShardLayout {
  /** The key of a projection that was sent to the shard before. */
  readonly projection: number;
  readonly format: PageFormat;
}

/** Predicates whose matching records are counted, each in some segments of a snapshot. */
export interface ShardCountRequest {
  readonly snapshot: number;
  readonly predicates: readonly Predicate[];
  /** For each predicate, the segments in which it is counted, as in `ShardQuery`. */
  readonly segments: readonly Uint32Array[];
}

/** Phrases to look up in the text index of a field in all segments of a snapshot. */
export interface ShardFrequenciesRequest {
  readonly snapshot: number;
  readonly field: FieldRef;
  readonly phrases: readonly FoldedTerms[];
}

/** Statistics of the texts of a field, and for each phrase the number of records that contain it; deleted rows do not count. */
export interface TextFrequencies extends FieldStatistics {
  readonly recordCounts: readonly number[];
}

/** A search in the text index of a field in all segments of a snapshot. */
export interface ShardSearch extends TextSearch {
  readonly snapshot: number;
  readonly field: FieldRef;
}

/** The answer of one shard to a query. */
export interface ShardAnswer {
  /** Pairs of the number of a segment and the number of its matching rows, in any order; incomplete if `isUncounted`. */
  readonly counts: Float64Array;
  /** Pairs of segment and row number, ascending, at most `ShardQuery.first` of them; empty for queries with an ordering. */
  readonly rows: Float64Array;
  /** At most `ShardQuery.first` rows, in order; none for queries without an ordering. */
  readonly candidates: PackedTopRows;
  /** The partial results of the facets; empty if the query has none. */
  readonly facets: readonly FacetPartial[];
  /** The rows up to the end of the page, in order of relevance; empty for queries without `relevance`. */
  readonly ranked: readonly RankedRow[];
  /** The records of the page, if one is requested, all its rows are known to be of this shard, and the shard knows the projection. */
  readonly page?: PageRecords;
  /**
   * The records of all rows of the answer, if a page is requested, `page` is absent, the rows are few, and the shard knows the projection.
   */
  readonly records?: PageRecords;
  readonly access: SegmentAccess;
}

/** Returns the rows of an answer in the order of the page. */
export function rowsOfAnswer({ rows, candidates, ranked }: ShardAnswer): readonly RowRef[] {
  if (candidates.rows.length > 0)
    return Array.from(candidates.rows, (row, i) => [candidates.segments[i]!, row]);
  if (ranked.length > 0) return ranked.map(({ segment, row }) => [segment, row]);
  return rowRefsOfPairs(rows);
}

/** Converts rows from the form in which they are sent: pairs of a segment's number and a row's number in it. */
export function rowRefsOfPairs(flat: Float64Array): RowRef[] {
  const list: RowRef[] = [];
  for (let i = 0; i < flat.length; i += 2) list.push([flat[i]!, flat[i + 1]!]);
  return list;
}

/** Fields whose columns are to be loaded, or whose stored size is requested. */
export interface ShardFieldsRequest {
  readonly snapshot: number;
  readonly fields: readonly FieldRef[];
}

/** A request for the records of a page. */
export interface ShardRecordsRequest extends ShardLayout {
  readonly snapshot: number;
  /** Pairs of the number of a segment and the number of a row in it. */
  readonly rows: Float64Array;
  /** True for all parts of a page except the first: the cache then counts all parts as one query. */
  readonly isContinuation: boolean;
}

/** A message that has a result. */
interface ShardTask {
  /** Identifies the task in a message that cancels it. */
  readonly id: number;
  /** True if no client waits for the result, so that the thread works on the task only while it is idle. */
  readonly isIdle?: boolean | undefined;
}

/** A message to a shard. */
export type MessageToShard =
  | { readonly kind: 'snapshot'; readonly snapshot: ShardSnapshot }
  | { readonly kind: 'forget'; readonly snapshot: number }
  | {
      readonly kind: 'projection';
      /** The key of the projection, the same for all shards. */
      readonly key: number;
      readonly projection: readonly ProjectedColumn[];
    }
  | { readonly kind: 'forget-projection'; readonly key: number }
  | (ShardTask & { readonly kind: 'select'; readonly query: ShardQuery })
  | (ShardTask & { readonly kind: 'count'; readonly query: ShardCountRequest })
  | (ShardTask & { readonly kind: 'frequencies'; readonly query: ShardFrequenciesRequest })
  | (ShardTask & { readonly kind: 'search'; readonly query: ShardSearch })
  | (ShardTask & { readonly kind: 'open' | 'load'; readonly query: ShardFieldsRequest })
  | (ShardTask & { readonly kind: 'records'; readonly query: ShardRecordsRequest })
  | { readonly kind: 'cancel'; readonly id: number };

/** A message from a shard. */
export type MessageFromShard =
  /** Acknowledges a message that has no result. */
  | 'done'
  | { readonly selected: ShardAnswer }
  /** The counts, in the order of the predicates. */
  | { readonly counts: Float64Array }
  | { readonly frequencies: TextFrequencies }
  | { readonly found: RankedTexts }
  /** For each field, the number of bytes of the opened files that loading its columns would read. */
  | { readonly bytes: Float64Array }
  /** The number of columns of segments that `loadColumns` has processed. */
  | { readonly loaded: number }
  /** The records, in the order of the rows. */
  | { readonly records: PageRecords }
  /** The reason why the memory executor cannot answer, such as too little memory or a snapshot that its thread does not know. */
  | Unsupported;
