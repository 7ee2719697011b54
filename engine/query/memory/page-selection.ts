import type { Columns } from '../../core/types.js';
import { mayContainAny as isAnyInFilter, type FilterHashes } from '../../parquet/bloom-filter.js';
import type { Bound } from '../../parquet/statistics.js';
import type { PageStatistics } from '../../parquet/read-footer.js';
import { isUnsupported } from '../unsupported.js';
import type { SegmentTest, StoredRows } from '../predicate/kinds/kind.js';
import { leafKey } from '../../store/segment-stats.js';
import { costOf, fieldsRead, kindOf, needsWholeSegment } from '../predicate/kinds/index.js';
import { conditionsIn, type FieldRef, type Predicate } from '../predicate/predicate.js';
import { segmentTest } from '../predicate/kinds/prune.js';
import { isVariantField, coordinateFields } from '../predicate/kinds/variant-place.js';
import { encodingId } from '../../parquet/page-encodings.js';
import { physicalType } from '../../parquet/parquet-schema.js';
import { holdsBytes } from './match/byte-search.js';
import type { MemoryColumn, SegmentView } from './match/column.js';
import { sliceColumn } from './match/column-rows.js';
import { runToEnd } from './cooperative-tasks.js';
import type { Matcher } from './evaluate.js';
import { pagesOf } from './load-column.js';
import { isSparse, chooseSelectionForm, type SelectionVector } from './match/selection-vector.js';
import type { RowPage, RowSpan } from './page-column.js';
import { fieldCacheKey } from './field-keys.js';
import type { RowGroup, SegmentColumnChunk, SegmentFile } from '../../store/segment-file.js';
import { physicalPath, type SegmentLeaf } from '../../store/segment-leaves.js';
import { releaseBytes } from './match/selection-bytes.js';

/** A predicate that can be evaluated on single pages of a segment, prepared for one query. */
export interface PagePredicate {
  /**
   * The fields that the predicate reads and the dataset stores: the name of each in cache keys (`fieldCacheKey`), with the `leafKey` of its
   * values.
   */
  readonly names: ReadonlyMap<string, string>;
  /** The leaves that store the fields, and the leaves whose statistics describe them, each by its `leafKey`. */
  readonly leaves: readonly string[];
  /** The names in cache keys (`fieldCacheKey`) of the fields whose values the predicate looks up by hash if the column has a hash table. */
  readonly lookedUp: readonly string[];
  readonly columns: Columns;
  readonly mayHold: SegmentTest;
  /** Whether the predicate has conditions that only strings with certain bytes satisfy (`mayHoldBytes`). */
  readonly hasLiterals: boolean;
  /** The estimated cost of evaluating the predicate over columns in memory, in nanoseconds per row. */
  readonly perRow: number;
}

/** Prepares a predicate. Returns undefined if it needs whole segments (`needsWholeSegment`), or reads no stored field at all. */
export function preparePagePredicate(
  predicate: Predicate,
  columns: Columns,
): PagePredicate | undefined {
  if (needsWholeSegment(predicate)) return undefined;
  const conditions = conditionsIn(predicate);
  const names = new Map<string, string>();
  const leaves = new Set<string>();
  const fields = fieldsRead(predicate);
  for (const field of fields) {
    const path = physicalPath(columns, field.path);
    if (path === undefined) continue;
    names.set(fieldCacheKey(field), leafKey(path));
    leaves.add(leafKey(path));
  }
  for (const field of fields.some(isVariantField) ? coordinateFields : []) {
    const path = physicalPath(columns, field.path);
    if (path !== undefined) leaves.add(leafKey(path));
  }
  if (names.size === 0) return undefined;
  let test: SegmentTest | undefined;
  return {
    names,
    leaves: [...leaves],
    lookedUp: conditions.flatMap((one) =>
      kindOf(one).isLookedUpByHash ? fieldCacheKey(one.field) : [],
    ),
    columns,
    // The test is created at the first call, because it is not needed if hashes find the values.
    mayHold: (rows) => (test ??= segmentTest(predicate))(rows),
    hasLiterals: conditions.some((one) => (kindOf(one).literal?.(one) ?? '') !== ''),
    perRow: costOf(predicate).perRow,
  };
}

/**
 * If a segment, or the part of it in row groups that may contain a match, has fewer pages than this, pages are not selected by their
 * statistics alone, unless these exclude all.
 */
const minPagesPerSegment = 8;
/**
 * By the statistics of the pages, pages are read or evaluated one by one only if at most one page in this many may contain a match; if more
 * may, it is better to load whole columns, which stay in the cache.
 */
const pageDivisor = 4;
/**
 * A predicate on columns in memory with a lower estimated cost per page, in nanoseconds, is evaluated over whole columns: testing the
 * bounds of a page takes 200 ns for numbers and 700 ns for strings in any letter case, and comparing indices of dictionaries is faster than
 * its estimate.
 */
const minPageCostNs = 3_000;

/**
 * Returns the row groups of a segment that may contain a match, according to the Bloom filters and null counts of their chunks. `filterOf`
 * returns the words of a chunk's filter; it is called only for chunks that have one, when a condition needs it.
 */
export function groupsToRead(
  file: SegmentFile,
  predicate: PagePredicate,
  filterOf: (chunk: SegmentColumnChunk) => Uint32Array | undefined,
  areVariantsPlaced = false,
): readonly RowGroup[] {
  const leaves = leavesOf(file, predicate);
  return file.groups.filter((group) => {
    const stats: Record<string, PageStats> = {};
    for (const leaf of leaves) {
      const chunk = group.chunks[leaf.index]!;
      let filterWords: Uint32Array | undefined;
      const mayContainAny = (hashes: FilterHashes): boolean => {
        filterWords ??= filterOf(chunk);
        return filterWords === undefined || isAnyInFilter(filterWords, hashes);
      };
      // An empty list also counts as null in the statistics, so the number of nulls of a list says nothing about its rows.
      const nulls = leaf.maxRepetition === 0 && { nulls: chunk.nulls };
      stats[leaf.key] = {
        ...nulls,
        ...(chunk.bloomFilter && { mayContainAny, prefix: chunk.prefix }),
      };
    }
    return predicate.mayHold({
      rows: group.rows,
      columns: predicate.columns,
      stats,
      areVariantsPlaced,
    });
  });
}

/**
 * Returns about how many bytes the column of a field of the predicate takes in memory; strings that are stored with dictionaries become
 * indices.
 */
export function columnBytesOf(file: SegmentFile, { names }: PagePredicate, name: string): number {
  const leaf = file.leafByKey(names.get(name)!);
  if (leaf === undefined) return 0;
  return file.groups.reduce((sum, { chunks }) => {
    const { bytes, textBytes, dictionaryOffset } = chunks[leaf.index]!;
    return sum + (dictionaryOffset === undefined ? Math.max(bytes, textBytes) : bytes);
  }, 0);
}

function leavesOf(file: SegmentFile, predicate: PagePredicate): readonly SegmentLeaf[] {
  return predicate.leaves.flatMap((key) => file.leafByKey(key) ?? []);
}

/**
 * Returns the pages of some row groups of a segment that may contain a match, according to the statistics of the pages. Undefined if there
 * are too many to read one by one, if the file lacks the page index, or if it stores no field of the predicate.
 */
export function pagesToRead(
  file: SegmentFile,
  predicate: PagePredicate,
  groups: readonly RowGroup[] = file.groups,
  areVariantsPlaced = false,
): readonly RowPage[] | undefined {
  const groupIndexes = indexedGroups(file, predicate, groups);
  return (
    groupIndexes &&
    pagesThatMayMatch(
      groupIndexes,
      predicate,
      areVariantsPlaced,
      maxSinglePages(pageCountOf(groupIndexes)),
    )
  );
}

/** Returns the maximum number of pages that are read or evaluated one by one, if a segment or some of its row groups have `pages` pages. */
function maxSinglePages(pages: number): number {
  return pages < minPagesPerSegment ? 0 : pages / pageDivisor;
}

/** The pages that a byte search has not excluded, and whether they are so few that searching further segments pays. */
interface SearchedPages {
  readonly pages: readonly RowPage[];
  readonly areFew: boolean;
}

/**
 * Returns the pages of some row groups of a segment that may contain a match, according to the statistics of the pages and to a search of
 * the content of pages of strings for the bytes that conditions require, which takes half the time of reading the column. Undefined if the
 * file lacks the page index, or if it stores no field of the predicate.
 */
export function pagesBySearch(
  file: SegmentFile,
  predicate: PagePredicate,
  groups: readonly RowGroup[],
  areVariantsPlaced = false,
): SearchedPages | undefined {
  const groupIndexes = indexedGroups(file, predicate, groups);
  if (groupIndexes === undefined) return undefined;
  const searchedGroups = groupIndexes.map((each) => ({
    ...each,
    leaves: statisticsWithSearch(file, each, predicate),
  }));
  const pages = pagesThatMayMatch(searchedGroups, predicate, areVariantsPlaced, Infinity)!;
  return { pages, areFew: pages.length <= maxSinglePages(pageCountOf(groupIndexes)) };
}

/**
 * Returns the statistics of the pages; those of strings that are stored without a dictionary include a search for bytes (`mayHoldBytes`).
 */
function statisticsWithSearch(
  file: SegmentFile,
  { group, firstRows, leaves }: IndexedGroup,
  predicate: PagePredicate,
): IndexedGroup['leaves'] {
  const count = firstRows.length - 1;
  return leavesOf(file, predicate).flatMap((leaf) => {
    const knownStatistics = leaves.find(({ key }) => key === leaf.key)?.pages;
    const { dictionaryOffset } = group.chunks[leaf.index]!;
    if (leaf.physical !== physicalType.byteArray || dictionaryOffset !== undefined)
      return knownStatistics === undefined ? [] : { key: leaf.key, pages: knownStatistics };
    const search = cachedPageSearch(file, group.chunks[leaf.index]!);
    const pages = Array.from({ length: count }, (_, page): PageStats => ({
      ...knownStatistics?.[page],
      mayHoldBytes: (bytes) => search(bytes)[page] !== 0,
    }));
    return { key: leaf.key, pages };
  });
}

/**
 * Returns a function that tells, for each page of a chunk, whether it may contain a string with the given bytes; 0 means that it does not.
 */
function cachedPageSearch(
  file: SegmentFile,
  chunk: SegmentColumnChunk,
): (bytes: Buffer) => readonly number[] {
  const pagesByBytes = new Map<Buffer, readonly number[]>();
  return (bytes) => {
    let pages = pagesByBytes.get(bytes);
    if (pages === undefined) pagesByBytes.set(bytes, (pages = searchPages(file, chunk, bytes)));
    return pages;
  };
}

function searchPages(
  file: SegmentFile,
  chunk: SegmentColumnChunk,
  wantedBytes: Buffer,
): readonly number[] {
  const pages: number[] = [];
  for (const { body, encoding } of pagesOf(file, [chunk])) {
    // Other encodings may split the bytes of a string; PLAIN stores them contiguously.
    const isFound = encoding !== encodingId.plain || holdsBytes(body.bytes, wantedBytes);
    pages.push(isFound ? 1 : 0);
  }
  return pages;
}

/**
 * Returns the rows of a segment that may contain a match, according to the statistics of the pages, for a predicate whose columns are all
 * in memory. Undefined if evaluating the predicate over all rows is estimated to take about as long, if too many pages may contain a match,
 * if the file lacks the page index, or if it stores no field of the predicate.
 */
export function spansToRead(
  file: SegmentFile,
  predicate: PagePredicate,
  areVariantsPlaced = false,
): readonly RowSpan[] | undefined {
  const groupIndexes = indexedGroups(file, predicate, file.groups);
  if (groupIndexes === undefined) return undefined;
  if (pageCountOf(groupIndexes) * minPageCostNs > file.rows * predicate.perRow) return undefined;
  const maxPages = maxSinglePages(pageCountOf(groupIndexes));
  const pages = pagesThatMayMatch(groupIndexes, predicate, areVariantsPlaced, maxPages);
  const spans: { readonly first: number; rows: number }[] = [];
  for (const { first, rows } of pages ?? []) {
    const last = spans.at(-1);
    if (last !== undefined && last.first + last.rows === first) last.rows += rows;
    else spans.push({ first, rows });
  }
  return pages && spans;
}

/** The parts of a row group's page index that `mayHold` tests. */
interface IndexedGroup {
  readonly group: RowGroup;
  /** The first row of each page, followed by the number of rows in the row group, as in `OffsetIndex`. */
  readonly firstRows: Int32Array;
  /** The statistics of the pages, for those leaves that have statistics. */
  readonly leaves: readonly { readonly key: string; readonly pages: readonly PageStats[] }[];
}

type PageStats = StoredRows['stats'][string];

/** Returns the page index of each row group; undefined if a chunk has none, or if the segment stores none of the leaves. */
function indexedGroups(
  file: SegmentFile,
  predicate: PagePredicate,
  groups: readonly RowGroup[],
): readonly IndexedGroup[] | undefined {
  const leaves = leavesOf(file, predicate);
  const groupIndexes: IndexedGroup[] = [];
  for (const group of groups) {
    const pages = leaves.map(({ index }) => file.offsetIndexOf(group, group.chunks[index]!));
    if (pages.length === 0 || pages.includes(undefined)) return undefined;
    const { firstRows } = pages[0]!;
    const leavesWithStatistics = leaves.flatMap((leaf) => {
      const statistics = statisticsOf(file, group.chunks[leaf.index]!, leaf);
      const isWhole = statistics?.length === firstRows.length - 1;
      return isWhole ? [{ key: leaf.key, pages: statistics }] : [];
    });
    groupIndexes.push({ group, firstRows, leaves: leavesWithStatistics });
  }
  return groupIndexes;
}

/** Reads the page index of a field into the file's cache. Queries use it also when the columns are in memory. */
export function readPageIndex(file: SegmentFile, columns: Columns, field: FieldRef): void {
  const path = physicalPath(columns, field.path);
  const leaf = path && file.leaf(path);
  if (leaf === undefined) return;
  for (const group of file.groups) {
    const chunk = group.chunks[leaf.index]!;
    file.offsetIndexOf(group, chunk);
    statisticsOf(file, chunk, leaf);
  }
}

function pageCountOf(groups: readonly IndexedGroup[]): number {
  return groups.reduce((sum, { firstRows }) => sum + firstRows.length - 1, 0);
}

/** Returns the pages that may contain a match; undefined if there are more than `maxPages`. */
function pagesThatMayMatch(
  groups: readonly IndexedGroup[],
  { columns, mayHold }: PagePredicate,
  areVariantsPlaced: boolean,
  maxPages: number,
): readonly RowPage[] | undefined {
  const candidatePages: RowPage[] = [];
  for (const { group, firstRows, leaves } of groups) {
    // One object is reused for all pages, because a query tests hundreds of them.
    const stats: Record<string, PageStats> = {};
    const storedPage = { rows: 0, columns, stats, areVariantsPlaced };
    for (let number = 0; number < firstRows.length - 1; number++) {
      storedPage.rows = firstRows[number + 1]! - firstRows[number]!;
      for (const { key, pages } of leaves) stats[key] = pages[number]!;
      if (!mayHold(storedPage)) continue;
      if (candidatePages.length + 1 > maxPages) return undefined;
      candidatePages.push({
        group,
        number,
        first: group.first + firstRows[number]!,
        rows: storedPage.rows,
      });
    }
  }
  return candidatePages;
}

/** The statistics of each chunk's pages, in the form that segment tests read. */
const statisticsByChunk = new WeakMap<SegmentColumnChunk, readonly PageStats[]>();

function statisticsOf(
  file: SegmentFile,
  chunk: SegmentColumnChunk,
  leaf: SegmentLeaf,
): readonly PageStats[] | undefined {
  // For a list, the statistics of a leaf describe values, not rows.
  if (leaf.maxRepetition > 0) return undefined;
  const knownStatistics = statisticsByChunk.get(chunk);
  if (knownStatistics !== undefined) return knownStatistics;
  const statistics = file.pageStatisticsOf(chunk, leaf)?.map(finiteStatistics);
  if (statistics !== undefined) statisticsByChunk.set(chunk, statistics);
  return statistics;
}

function finiteStatistics({ nulls, min, max }: PageStatistics): PageStats {
  const isBounded =
    min !== undefined && max !== undefined && isFiniteBound(min) && isFiniteBound(max);
  return isBounded ? { nulls, min, max } : { nulls };
}

/** Returns whether a bound can exclude pages; false for NaN and infinities. */
function isFiniteBound(bound: Bound): boolean {
  return typeof bound !== 'number' || Number.isFinite(bound);
}

/**
 * Returns the matching rows of a segment of `rows` rows, looked for only in the given pages or other ranges of rows. Undefined if the
 * predicate cannot be evaluated on one of them.
 */
export function matchPages<S extends RowSpan>(
  pages: readonly S[],
  rows: number,
  match: Matcher,
  columnOf: (page: S, field: FieldRef) => MemoryColumn | undefined,
): SelectionVector | undefined {
  const sparseRows: number[] = [];
  let selected: Uint8Array | undefined;
  for (const page of pages) {
    const testResult = runToEnd(
      match({ rows: page.rows, column: (field) => columnOf(page, field) }),
    );
    if (isUnsupported(testResult)) return undefined;
    const matchingRows = chooseSelectionForm(testResult, rows);
    if (matchingRows === 'none') continue;
    if (isSparse(matchingRows)) for (const row of matchingRows) sparseRows.push(page.first + row);
    else {
      selected ??= new Uint8Array(rows);
      if (matchingRows === 'all') selected.fill(1, page.first, page.first + page.rows);
      else selected.set(matchingRows, page.first);
    }
    releaseBytes(testResult);
  }
  if (selected === undefined) return sparseRows.length === 0 ? 'none' : Int32Array.from(sparseRows);
  for (const row of sparseRows) selected[row] = 1;
  return selected;
}

/**
 * Returns the matching rows of a segment whose columns are in memory, looked for only in the given ranges of rows; undefined if the
 * predicate cannot be evaluated on one of them.
 */
export function matchSpans(
  spans: readonly RowSpan[],
  view: SegmentView,
  match: Matcher,
): SelectionVector | undefined {
  return matchPages(spans, view.rows, match, ({ first, rows }, field) => {
    const column = view.column(field);
    return column && sliceColumn(column, first, first + rows);
  });
}
