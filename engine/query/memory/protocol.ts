import type { CheckedFile } from '../../core/block-checksums.js';
import type { Facet } from '../request/facets.js';
import type { RowRef, RowSet, SegmentAccess, SegmentRows } from '../plan/executor.js';
import type { FieldRef, Predicate } from '../predicate/predicate.js';
import type { PageFormat, PageRecords } from '../results/page-format.js';
import type { Projected } from '../results/projection.js';
import type { OrderKey } from '../request/request.js';
import type { Columns } from '../../core/types.js';
import type { DeletionVector } from '../../store/deletion-vector.js';
import { packBitmap } from '../../text/bitmap.js';
import type { FacetPartial } from './facets/partial.js';
import { isSparse, settleSelection, type SelectionVector } from './match/selection-vector.js';
import type { FoundTexts, TextSearch } from '../../text/ranked-search.js';
import type { RankedRow } from '../../text/ranking.js';
import type { TextFrequencies } from '../text/weigh.js';
import type { Relevance } from './ranked-rows.js';
import type { TopRow } from './top-rows.js';
import type { Unsupported } from '../unsupported.js';

/** A version of a dataset, with the segments that belong to one shard. */
export interface ShardSnapshot {
  /** The key of the projection, the same for all shards. */
  readonly key: number;
  readonly datasetId: number;
  readonly columns: Columns;
  readonly segments: readonly ShardSegment[];
}

/** A segment of a snapshot; its path is absolute. */
export interface ShardSegment extends CheckedFile {
  /** The number of the segment in the snapshot. */
  readonly number: number;
  readonly rows: number;
  /** Whether variants name their positions, as in `Segment`. */
  readonly areVariantsPlaced: boolean;
  /** The deleted rows, as in `Segment`. */
  readonly deletion?: DeletionVector | undefined;
  /** The first row id, as in `Segment`. */
  readonly baseRowId?: number | undefined;
}

/** A query of some segments of a snapshot. */
export interface ShardQuery {
  readonly snapshot: number;
  /** Numbers of segments, ascending; segments of other shards are skipped. */
  readonly segments: Uint32Array;
  readonly predicate: Predicate;
  /** Empty: rows come in the order of the segments. The last key may be `rowIdKey` (top-rows.ts). */
  readonly ordering: readonly OrderKey[];
  /** Maximum number of rows in the answer, the first ones in order. */
  readonly first: number;
  /** The end of the previous page in segment order: the answer has only rows after this one. Only without an ordering. */
  readonly after?: readonly [segment: number, row: number];
  /**
   * The end of the previous page in the order of row ids: the answer has only rows with a greater row id. Only with `rowIdKey` as the only
   * key.
   */
  readonly afterRowId?: number;
  /** True if the counts are not needed: the shard stops when it has found the first rows. */
  readonly isUncounted?: boolean;
  readonly facets: readonly Facet[] | null;
  /** True if the answer lists all matching rows. */
  readonly isListed?: boolean;
  /** The rows of the page are in order of relevance; `ordering` is empty, and `first` 0. */
  readonly relevance?: Relevance;
  /** The page; with it, the answer may have records. */
  readonly page?: ShardPage;
}

/** The rows of a page among all matching rows in order, and the layout of their records. */
export interface ShardPage extends ShardLayout {
  readonly offset: number;
  readonly limit: number;
  /** True if no other shard is asked: the answer has the records of the page. Otherwise it has the records of all its rows, if they are few. */
  readonly isOnly: boolean;
}

/** The layout of records (`PageLayout`). */
export interface ShardLayout {
  /** The key of a projection that was sent to the shard before. */
  readonly projection: number;
  readonly format: PageFormat;
}

/** Predicates whose matching records are counted in some segments of a snapshot. */
export interface ShardCount {
  readonly snapshot: number;
  /** The segments that may match, as in `ShardQuery`. */
  readonly segments: Uint32Array;
  readonly predicates: readonly Predicate[];
}

/** Phrases to look up in the text index of a field, in all segments of a snapshot. */
export interface ShardFrequencies {
  readonly snapshot: number;
  readonly field: FieldRef;
  readonly phrases: readonly (readonly Uint8Array[])[];
}

/** A search of the text index of a field, in all segments of a snapshot. */
export interface ShardSearch extends TextSearch {
  readonly snapshot: number;
  readonly field: FieldRef;
}

/** The answer of one shard to a query. */
export interface ShardAnswer {
  /** Pairs: the number of a segment, and the number of its matching rows. */
  readonly counts: Float64Array;
  /** Pairs of segment and row number, ascending, at most `first` of them. Only without an ordering. */
  readonly rows: Float64Array;
  /** At most `first` rows, in order. Only with an ordering. */
  readonly candidates: readonly TopRow[];
  /** Empty if the query has no facets. */
  readonly facets: readonly FacetPartial[];
  /** All matching rows, by segment. Only with `isListed`. */
  readonly listed: readonly SegmentRows[];
  /** The rows up to the end of the page, in order. Only with `relevance`. */
  readonly ranked: readonly RankedRow[];
  /** The records; present as `ShardPage.isOnly` says, unless the projection has been forgotten. */
  readonly records?: PageRecords;
  readonly access: SegmentAccess;
}

/** The rows that an answer gives, in the order of the page. */
export function rowsOfAnswer({ rows, candidates, ranked }: ShardAnswer): readonly RowRef[] {
  if (candidates.length > 0) return candidates.map(({ segment, row }) => [segment, row]);
  if (ranked.length > 0) return ranked.map(({ segment, row }) => [segment, row]);
  return rowPairs(rows);
}

/** Rows from the form in which they are sent: pairs, the number of a segment and the number of a row in it. */
export function rowPairs(flat: Float64Array): RowRef[] {
  const list: RowRef[] = [];
  for (let i = 0; i < flat.length; i += 2) list.push([flat[i]!, flat[i + 1]!]);
  return list;
}

/** Fields whose columns are to be loaded, or whose stored size is requested. */
export interface ShardFields {
  readonly snapshot: number;
  readonly fields: readonly FieldRef[];
}

/** A request for the records of a page. */
export interface ShardRecords extends ShardLayout {
  readonly snapshot: number;
  /** Pairs: the number of a segment, and the number of a row in it. */
  readonly rows: Float64Array;
  /** True for all parts of a page but the first: the cache counts what they ask for as one query. */
  readonly isContinued: boolean;
}

/** A message that asks for something. */
interface ShardTask {
  /** Identifies the task in a message that cancels it. */
  readonly id: number;
  /** As in `RunOptions`. */
  readonly isIdle?: boolean | undefined;
}

/** To a shard. */
export type ToShard =
  | { readonly kind: 'snapshot'; readonly snapshot: ShardSnapshot }
  | { readonly kind: 'forget'; readonly snapshot: number }
  | {
      readonly kind: 'projection';
      /** The key of the snapshot, the same for all shards. */
      readonly key: number;
      readonly projection: readonly Projected[];
    }
  | { readonly kind: 'forget-projection'; readonly key: number }
  | (ShardTask & { readonly kind: 'select'; readonly query: ShardQuery })
  | (ShardTask & { readonly kind: 'count'; readonly query: ShardCount })
  | (ShardTask & { readonly kind: 'frequencies'; readonly query: ShardFrequencies })
  | (ShardTask & { readonly kind: 'search'; readonly query: ShardSearch })
  | (ShardTask & { readonly kind: 'open' | 'load'; readonly query: ShardFields })
  | (ShardTask & { readonly kind: 'records'; readonly query: ShardRecords })
  | { readonly kind: 'cancel'; readonly id: number };

/** A message from a shard. */
export type FromShard =
  /** The answer to a message without a result. */
  | 'done'
  | { readonly selected: ShardAnswer }
  /** The counts, in the order of the predicates. */
  | { readonly counts: Float64Array }
  | { readonly frequencies: TextFrequencies }
  | { readonly found: FoundTexts }
  /** For each field, the number of bytes that loading its columns reads. */
  | { readonly bytes: Float64Array }
  /** The number of columns that are in memory now. */
  | { readonly loaded: number }
  /** The records, in the order of the rows. */
  | { readonly records: PageRecords }
  /** The data, or a thread that was replaced, prevent the memory executor from answering. */
  | Unsupported;

/** The rows as they are sent to another thread: a copy, since sending a view would send its whole buffer. */
export function sendableRows(found: SelectionVector): RowSet {
  const rows = settleSelection(found);
  if (rows === 'all' || rows === 'none') return rows === 'all' ? rows : new Int32Array(0);
  return isSparse(rows) ? rows.slice() : packBitmap(rows);
}
