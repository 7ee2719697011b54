import { liveRowCount, type RowRef } from '../../store/store.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import type { ProjectedColumn } from '../results/projection.js';
import { foldedTermsIn, type ColumnMatcher } from '../../text/column-matcher.js';
import { searchRanked, type RankedTexts, type SearchedSegment } from '../../text/ranked-search.js';
import { unsupportedAcrossValues } from '../text/text-field.js';
import { createFacetAccumulator } from './facets/accumulator.js';
import { firstRows, releaseBytes } from './match/selection-bytes.js';
import {
  countOf,
  isSparse,
  selectionBytesOf,
  type SelectionVector,
} from './match/selection-vector.js';

import type { CacheStats } from './admission-cache.js';
import type { SegmentView } from './match/column.js';
import { unsupportedPattern } from '../predicate/kinds/indexed-terms.js';
import { isScoredCondition } from '../predicate/predicate.js';
import { cachedRecords } from './cached-records.js';
import { compileMatchers } from './evaluate.js';
import { liveFrequencies } from './live-frequencies.js';
import { fieldsOfPlainScan, liveViewOf } from './live-view.js';
import { loadColumns, openSegmentFiles } from './load-columns.js';
import { preparePagePredicate } from './page-selection.js';
import { PageMatcher } from './page-matcher.js';
import { RankedRows } from './ranked-rows.js';
import { inOrderOfBounds } from './key-bounds.js';
import { packTopRows, TopRows, type KeyBound } from './top-rows.js';
import {
  rowRefsOfPairs,
  rowsOfAnswer,
  type ShardAnswer,
  type ShardCountRequest,
  type ShardFieldsRequest,
  type ShardFrequenciesRequest,
  type ShardLayout,
  type ShardQuery,
  type ShardRecordsRequest,
  type ShardSearch,
  type ShardSegment,
  type ShardSnapshot,
  type TextFrequencies,
} from './shard-protocol.js';
import type { PageRecords } from '../results/page-format.js';
import { SegmentCache } from './segment-cache.js';
import type { SegmentFile } from '../../store/segment-file.js';

/** Answers queries for the segments that are assigned to it, in one thread, and caches their columns. */
export class Shard {
  readonly #cache: SegmentCache;
  readonly #snapshots = new Map<number, ShardSnapshot>();
  readonly #projections = new Map<number, readonly ProjectedColumn[]>();

  constructor(cacheBytes: number, counts?: CacheStats) {
    this.#cache = new SegmentCache(cacheBytes, counts);
  }

  addSnapshot(snapshot: ShardSnapshot): void {
    this.#snapshots.set(snapshot.key, snapshot);
  }

  removeSnapshot(key: number): void {
    this.#snapshots.delete(key);
  }

  addProjection(key: number, projection: readonly ProjectedColumn[]): void {
    this.#projections.set(key, projection);
  }

  removeProjection(key: number): void {
    this.#projections.delete(key);
  }

  /** Answers a query segment by segment, and yields where it may be interrupted. */
  *select(query: ShardQuery): Generator<void, ShardAnswer | Unsupported> {
    const snapshot = this.#snapshots.get(query.snapshot);
    if (snapshot === undefined) return forgottenSnapshot;
    this.#cache.beginQuery();
    const wantedNumbers = new Set(query.segments);
    const inFileOrder = snapshot.segments.filter(({ number }) => wantedNumbers.has(number));
    const keyBounds = new Map(query.keyBounds?.map((bound, i) => [query.segments[i]!, bound]));
    const boundOf = ({ number }: ShardSegment): KeyBound => keyBounds.get(number);
    // The segments that may have the first rows come first, so that others can be skipped.
    const segments =
      keyBounds.size > 0 && query.facets === null
        ? inOrderOfBounds(inFileOrder, boundOf, query.ordering[0]!)
        : inFileOrder;
    const sideConditions = query.relevance?.conditions ?? [];
    const [match, ...matchSides] = compileMatchers([query.predicate, ...sideConditions], new Set(sideConditions.filter(isScoredCondition))); // prettier-ignore
    const pagePredicate =
      matchSides.length === 0 ? preparePagePredicate(query.predicate, snapshot.columns) : undefined;
    const pageMatcher = pagePredicate && new PageMatcher(pagePredicate, match!);
    const rankedRows = query.relevance && new RankedRows(query.relevance);
    const facets = query.facets ? createFacetAccumulator(query.facets) : undefined;
    const topRows =
      query.ordering.length > 0
        ? new TopRows(query.ordering, query.first, query.afterRowId)
        : undefined;
    const scannedFields = fieldsOfPlainScan(query, pagePredicate !== undefined);
    const counts = new Float64Array(2 * segments.length);
    const rowPairs: number[] = [];
    const access = { bounds: 0, filters: 0, pages: 0, searches: 0, hashes: 0, columns: 0 };
    for (const [i, segment] of segments.entries()) {
      const isBehind = topRows?.isBehind(segment.number, boundOf(segment)) ?? false;
      if (isBehind && query.predicate.kind === 'all' && facets === undefined) {
        counts[2 * i] = segment.number;
        counts[2 * i + 1] = liveRowCount(segment);
        access.bounds++;
        continue;
      }
      const view = this.#cache.view(snapshot, segment);
      const pageMatches = pageMatcher?.findMatches(
        this.#cache.pages(snapshot, segment),
        view,
        segment,
      );
      if (pageMatches?.found === 'none') {
        counts[2 * i] = segment.number;
        access[pageMatches.by]++;
        this.#cache.releaseIdle();
        yield;
        continue;
      }
      const liveView =
        pageMatches?.found === undefined
          ? liveViewOf(this.#cache, snapshot, segment, scannedFields)
          : undefined;
      const scannedView = liveView ?? view;
      const matchingRows = pageMatches?.found ?? (yield* this.#interruptibly(match!(scannedView)));
      if (isUnsupported(matchingRows)) return this.#releaseAndReturn(matchingRows);
      access[pageMatches?.by ?? 'columns']++;
      const count = countOf(matchingRows, scannedView.rows);
      counts[2 * i] = segment.number;
      counts[2 * i + 1] = count;
      if (count > 0) {
        const sideSelections: SelectionVector[] = [];
        for (const side of matchSides) {
          const sideSelection = yield* this.#interruptibly(side(view));
          if (isUnsupported(sideSelection)) return this.#releaseAndReturn(sideSelection);
          sideSelections.push(sideSelection);
        }
        const rankingRefusal = rankedRows?.add(segment.number, view, matchingRows, sideSelections);
        sideSelections.forEach(releaseBytes);
        if (rankingRefusal) return this.#releaseAndReturn(rankingRefusal);
        if (topRows === undefined)
          collectRowPairs(rowPairs, matchingRows, scannedView, segment.number, query);
        if (!isBehind) topRows?.add(scannedView, matchingRows, segment);
        if (facets !== undefined) {
          const bytes = selectionBytesOf(matchingRows, scannedView.rows);
          const refusal = facets.add(scannedView, bytes);
          releaseBytes(bytes);
          if (refusal) return this.#releaseAndReturn(refusal);
        }
      }
      releaseBytes(matchingRows);
      this.#cache.releaseIdle();
      if (query.isUncounted && rowPairs.length === 2 * query.first) break;
      yield;
    }
    const partials = facets?.partial() ?? [];
    if (isUnsupported(partials)) return partials;
    const answer = {
      counts,
      rows: Float64Array.from(rowPairs),
      candidates: packTopRows(topRows?.inSortOrder() ?? [], query.ordering.length),
      facets: partials,
      ranked: rankedRows?.page() ?? [],
      access,
    };
    if (query.page === undefined) return answer;
    const answerRows = rowsOfAnswer(answer);
    const pageRows = rowsOfWholePage(query, answerRows);
    const isShort = answerRows.length > 0 && answerRows.length <= maxRowsWithRecords(query);
    if (pageRows === undefined && !isShort) return answer;
    const records = this.#records(snapshot, pageRows ?? answerRows, query.page);
    if (isUnsupported(records)) return answer;
    return pageRows === undefined ? { ...answer, records } : { ...answer, page: records };
  }

  /** Counts, for each predicate, the rows that satisfy it in the segments that the query names for it. */
  *count(query: ShardCountRequest): Generator<void, Float64Array | Unsupported> {
    const snapshot = this.#snapshots.get(query.snapshot);
    if (snapshot === undefined) return forgottenSnapshot;
    this.#cache.beginQuery();
    const wantedNumbers = query.segments.map((numbers) => new Set(numbers));
    const matches = compileMatchers(
      query.predicates,
      new Set(query.predicates.filter(isScoredCondition)),
    );
    const counts = new Float64Array(matches.length);
    for (const segment of snapshot.segments) {
      if (!wantedNumbers.some((numbers) => numbers.has(segment.number))) continue;
      const view = this.#cache.view(snapshot, segment);
      for (const [i, match] of matches.entries()) {
        if (!wantedNumbers[i]!.has(segment.number)) continue;
        const matchingRows = yield* this.#interruptibly(match(view));
        if (isUnsupported(matchingRows)) return this.#releaseAndReturn(matchingRows);
        counts[i]! += countOf(matchingRows, segment.rows);
        releaseBytes(matchingRows);
      }
      this.#cache.releaseIdle();
      yield;
    }
    return counts;
  }

  /** Looks phrases up in the text index of a field. */
  *frequencies(query: ShardFrequenciesRequest): Generator<void, TextFrequencies | Unsupported> {
    const indexedSegments = this.#indexedSegments(query);
    if (isUnsupported(indexedSegments)) return indexedSegments;
    let [records, tokens] = [0, 0];
    const rowCounts = query.phrases.map(() => 0);
    for (const { matcher, view } of indexedSegments) {
      const unsupported = unsupportedPattern(query.field, matcher(), query.phrases);
      if (unsupported) return this.#releaseAndReturn(unsupported);
      const segmentFrequencies = liveFrequencies(matcher(), view, query.field, query.phrases);
      records += segmentFrequencies.records;
      tokens += segmentFrequencies.tokens;
      for (const [i, rows] of segmentFrequencies.recordCounts.entries()) rowCounts[i]! += rows;
      this.#cache.releaseIdle();
      yield;
    }
    return { records, tokens, recordCounts: rowCounts };
  }

  *search(query: ShardSearch): Generator<void, RankedTexts | Unsupported> {
    const indexedSegments = this.#indexedSegments(query);
    if (isUnsupported(indexedSegments)) return indexedSegments;
    const patterns = [...foldedTermsIn(query.query), ...query.phrases].filter(
      ({ pattern }) => pattern,
    );
    const phrases = query.phrases.filter(({ terms }) => terms.length > 1);
    if (patterns.length + phrases.length > 0) {
      for (const { matcher } of indexedSegments) {
        const mayCross = phrases.some((phrase) => matcher().mayCrossValues(phrase));
        const unsupported = unsupportedPattern(query.field, matcher(), patterns);
        this.#cache.releaseIdle();
        if (unsupported) return unsupported;
        if (mayCross) return unsupportedAcrossValues(query.field);
      }
    }
    const rankedTexts = yield* this.#interruptibly(searchRanked(indexedSegments, query));
    this.#cache.releaseIdle();
    return rankedTexts;
  }

  /** Returns the text indexes of a field in the segments that store it, or a reason if one of these has none. */
  #indexedSegments({
    snapshot: key,
    field,
  }: Pick<ShardSearch, 'snapshot' | 'field'>): IndexedSegment[] | Unsupported {
    const snapshot = this.#snapshots.get(key);
    if (snapshot === undefined) return forgottenSnapshot;
    this.#cache.beginQuery();
    const indexedSegments: IndexedSegment[] = [];
    for (const segment of snapshot.segments) {
      const view = this.#cache.view(snapshot, segment);
      const text = view.text!(field);
      if (isUnsupported(text)) return this.#releaseAndReturn(text);
      const matcher = (): ColumnMatcher => view.text!(field) as ColumnMatcher;
      if (text !== 'absent') indexedSegments.push({ number: segment.number, matcher, view });
      this.#cache.releaseIdle();
    }
    return indexedSegments;
  }

  /** Opens files of segments for `loadColumns`, see `openSegmentFiles`. */
  *openSegmentFiles(query: ShardFieldsRequest): Generator<void, Float64Array | Unsupported> {
    const snapshot = this.#snapshots.get(query.snapshot);
    if (snapshot === undefined) return forgottenSnapshot;
    return yield* openSegmentFiles(this.#cache, snapshot, query.fields);
  }

  /** Loads columns before a query asks for them, see `loadColumns`. */
  *loadColumns(query: ShardFieldsRequest): Generator<void, number | Unsupported> {
    const snapshot = this.#snapshots.get(query.snapshot);
    if (snapshot === undefined) return forgottenSnapshot;
    return yield* loadColumns(this.#cache, snapshot, query.fields);
  }

  /** Runs a generator, and closes all files whenever it yields. */
  *#interruptibly<T>(work: Generator<void, T>): Generator<void, T> {
    for (let step = work.next(); ; step = work.next()) {
      if (step.done) return step.value;
      this.#cache.releaseIdle();
      yield;
    }
  }

  #releaseAndReturn<T>(result: T): T {
    this.#cache.releaseIdle();
    return result;
  }

  /**
   * Returns the records of a page in the order of the requested rows. Does not yield while it reads: there are so few that other work can
   * wait.
   */
  *records(query: ShardRecordsRequest): Generator<void, PageRecords | Unsupported> {
    yield;
    const snapshot = this.#snapshots.get(query.snapshot);
    if (snapshot === undefined) return forgottenSnapshot;
    if (!query.isContinuation) this.#cache.beginQuery();
    return this.#records(snapshot, rowRefsOfPairs(query.rows), query);
  }

  #records(
    snapshot: ShardSnapshot,
    rows: readonly RowRef[],
    { projection: key, format }: ShardLayout,
  ): PageRecords | Unsupported {
    const projection = this.#projections.get(key);
    if (projection === undefined) return forgottenSnapshot;
    const fileOfSegment = (wantedNumber: number): SegmentFile => {
      const segment = snapshot.segments.find(({ number }) => number === wantedNumber);
      if (segment === undefined) throw new Error(`segment ${wantedNumber} is not of this shard`);
      return this.#cache.file(segment);
    };
    const name = `${snapshot.key} ${key}`;
    const request = { rows, projection, format, name };
    const records = cachedRecords(
      { texts: this.#cache.admissionCache, pages: this.#cache.pageCache },
      fileOfSegment,
      this.#cache.columnsOf(snapshot),
      request,
    );
    this.#cache.releaseIdle();
    return records;
  }

  close(): void {
    this.#cache.close();
  }
}

/** A segment that has a text index for a field. */
interface IndexedSegment extends SearchedSegment {
  readonly view: SegmentView;
}

/**
 * The answer of a shard that does not know a snapshot or projection, because its thread was replaced or many newer ones have been used
 * since.
 */
const forgottenSnapshot: Unsupported = {
  unsupported: 'a snapshot or projection that its worker thread has forgotten',
};

/** Even if a page takes fewer rows of each shard, an answer with at most this many rows includes their records. */
const minRowsWithRecords = 16;

/**
 * Returns the number of rows up to which the answer of one of several shards includes their records, to save a second request: the share of
 * one shard of a page. If none of the shards has more, all rows are on the page. Otherwise some of the records may not be needed.
 */
function maxRowsWithRecords({ page, shardCount }: ShardQuery): number {
  return Math.max(minRowsWithRecords, Math.floor(page!.limit / shardCount));
}

/**
 * Returns the rows of the requested page if they are among these rows of a shard whatever the other shards find: if no other shard is
 * asked, or if the page is in the order of the segments and ends before the first segment of another shard.
 */
function rowsOfWholePage(
  { page, ordering, relevance, firstOtherSegment }: ShardQuery,
  rows: readonly RowRef[],
): readonly RowRef[] | undefined {
  const { offset, limit } = page!;
  const lastRow = rows[offset + limit - 1];
  const isInSegmentOrder = ordering.length === 0 && relevance === undefined;
  const endsBeforeOthers =
    isInSegmentOrder && lastRow !== undefined && lastRow[0] < firstOtherSegment;
  if (firstOtherSegment !== Infinity && !endsBeforeOthers) return undefined;
  return rows.slice(offset, offset + limit);
}

/**
 * Appends the first selected rows of a segment that come after the row `after` to `pairs`, as pairs of segment and row, until there are
 * `first` pairs.
 */
function collectRowPairs(
  pairs: number[],
  selection: SelectionVector,
  { rows, rowOf }: SegmentView,
  number: number,
  { first, after }: ShardQuery,
): void {
  const pairsLeft = first - pairs.length / 2;
  if (pairsLeft <= 0 || (after !== undefined && number < after[0])) return;
  const from = after?.[0] === number ? after[1] + 1 : 0;
  const newRows = isSparse(selection)
    ? selection.filter((row) => row >= from).subarray(0, pairsLeft)
    : firstRows(selection, rows, pairsLeft, from);
  for (const row of newRows) pairs.push(number, rowOf?.(row) ?? row);
}
