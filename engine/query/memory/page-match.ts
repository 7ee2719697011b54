import type { Columns } from '../../core/types.js';
import { mayContain as isInFilter, type FilterHash } from '../../parquet/bloom-filter.js';
import type { Bound } from '../../parquet/statistics.js';
import type { PageStatistics } from '../../parquet/read-footer.js';
import { isUnsupported } from '../unsupported.js';
import type { SegmentTest, StoredRows } from '../predicate/kind.js';
import { leafKey } from '../../store/stats.js';
import { costOf, fieldsRead } from '../predicate/kinds.js';
import { conditionsIn, type FieldRef, type Predicate } from '../predicate/predicate.js';
import { segmentTest } from '../predicate/prune.js';
import { isVariant, placeFields } from '../predicate/variant-place.js';
import { encodingId } from '../../parquet/encoding.js';
import { physicalType } from '../../parquet/schema.js';
import { holdsBytes } from './byte-search.js';
import type { MemoryColumn, SegmentView } from './column.js';
import { columnRows } from './column-rows.js';
import { runToEnd } from './cooperative-tasks.js';
import type { Matcher } from './evaluate.js';
import { pagesOf } from './load.js';
import { isSparse, settleSelection, type SelectionVector } from './match/selection-vector.js';
import type { RowPage, RowSpan } from './page-column.js';
import { fieldName } from './segment-cache.js';
import type { RowGroup, SegmentChunk, SegmentFile } from './segment-file.js';
import { physicalPath, type SegmentLeaf } from './segment-leaves.js';
import { releaseBytes } from './selection-bytes.js';

/** A predicate whose matches can be looked for in single pages, prepared for one query. */
export interface PageQuery {
  /** The keys in the cache (`fieldName`) of the fields that the predicate reads. */
  readonly names: readonly string[];
  /** The leaves that store the fields, and the leaves whose statistics describe them, by `leafKey`. */
  readonly leaves: readonly string[];
  /** Those of `names` whose values are looked up by hashes, if the column has a hash table. */
  readonly lookedUp: readonly string[];
  readonly columns: Columns;
  readonly mayHold: SegmentTest;
  /** Whether it has conditions that only strings with certain bytes satisfy (`mayHoldBytes`). */
  readonly hasLiterals: boolean;
  /** The estimated cost of evaluating the predicate over columns in memory, nanoseconds per row. */
  readonly perRow: number;
}

/** The kinds of conditions that may have a `literal`. */
const literalKinds: ReadonlySet<string> = new Set(['contains', 'prefix', 'regexp']);

/**
 * Prepares a predicate. Undefined if it cannot be evaluated page by page: it reads the elements of a list of objects or what the text
 * index found in whole segments, or it reads no stored field at all.
 */
export function pageQuery(predicate: Predicate, columns: Columns): PageQuery | undefined {
  const conditions = conditionsIn(predicate);
  if (conditions.some(({ kind }) => ['any', 'terms', 'phrase'].includes(kind))) return undefined;
  const names = new Set<string>();
  const leaves = new Set<string>();
  const fields = fieldsRead(predicate);
  for (const field of fields) {
    const path = physicalPath(columns, field.path);
    if (path === undefined) continue;
    names.add(fieldName(field));
    leaves.add(leafKey(path));
  }
  for (const field of fields.some(isVariant) ? placeFields : []) {
    const path = physicalPath(columns, field.path);
    if (path !== undefined) leaves.add(leafKey(path));
  }
  if (names.size === 0) return undefined;
  let test: SegmentTest | undefined;
  return {
    names: [...names],
    leaves: [...leaves],
    lookedUp: conditions.flatMap((one) => (one.kind === 'in' ? fieldName(one.field) : [])),
    columns,
    // Created at the first call, because it is not needed if hashes find the values.
    mayHold: (rows) => (test ??= segmentTest(predicate))(rows),
    hasLiterals: conditions.some(({ kind }) => literalKinds.has(kind)),
    perRow: costOf(predicate).perRow,
  };
}

/** Segments of fewer pages are read as a whole. */
const fewPages = 8;
/** At most one page in this many is read by itself, or evaluated by itself of columns in memory: of more, whole columns are worth keeping. */
const pageShare = 4;
/**
 * Conditions that are estimated to take fewer nanoseconds per page are evaluated over whole columns: testing the bounds of a page takes 200
 * for numbers and 700 for strings in any letter case, and comparing indices of dictionaries is faster than its estimate.
 */
const leastPageNs = 3_000;

/**
 * The row groups of a segment that may hold a match, by the bloom filters of their chunks. `filterOf` gives the words of a chunk's
 * filter; it is called for chunks whose filter decides.
 */
export function groupsToRead(
  file: SegmentFile,
  query: PageQuery,
  filterOf: (chunk: SegmentChunk) => Uint32Array | undefined,
  areVariantsPlaced = false,
): readonly RowGroup[] {
  const leaves = leavesOf(file, query);
  return file.groups.filter((group) => {
    const stats: Record<string, PageStats> = {};
    for (const leaf of leaves) {
      const chunk = group.chunks[leaf.index]!;
      let words: Uint32Array | undefined;
      const mayContain = (hash: FilterHash): boolean => {
        words ??= filterOf(chunk);
        return words === undefined || isInFilter(words, hash);
      };
      // A list without elements also counts as null, so the nulls of a list say nothing about its rows.
      const nulls = leaf.maxRepetition > 0 ? 0 : chunk.nulls;
      stats[leaf.key] = { nulls, ...(chunk.filter && { mayContain }) };
    }
    return query.mayHold({ rows: group.rows, columns: query.columns, stats, areVariantsPlaced });
  });
}

function leavesOf(file: SegmentFile, query: PageQuery): readonly SegmentLeaf[] {
  return query.leaves.flatMap((key) => file.leafAt(key) ?? []);
}

/**
 * The pages of some row groups of a segment that may hold a match, by the statistics of the pages. Undefined if they are too many for
 * reading them one by one, or if the file lacks the page index.
 */
export function pagesToRead(
  file: SegmentFile,
  query: PageQuery,
  groups: readonly RowGroup[] = file.groups,
  areVariantsPlaced = false,
): readonly RowPage[] | undefined {
  const indexed = indexedGroups(file, query, groups);
  return indexed && fewPagesOf(indexed, query, areVariantsPlaced, mostPages(pagesIn(indexed)));
}

/** The number of pages, of so many, up to which they are read one by one. */
function mostPages(pages: number): number {
  return pages < fewPages ? 0 : pages / pageShare;
}

/** The pages that a search has left, and whether they are few enough that searching other segments is worth it. */
interface SearchedPages {
  readonly pages: readonly RowPage[];
  readonly areFew: boolean;
}

/**
 * As `pagesToRead`, but looks into the pages: the bytes of each page of strings are searched as a whole for what conditions need, which takes half
 * the time of reading the column. Undefined if the file lacks the page index.
 */
export function pagesBySearch(
  file: SegmentFile,
  query: PageQuery,
  groups: readonly RowGroup[],
  areVariantsPlaced = false,
): SearchedPages | undefined {
  const indexed = indexedGroups(file, query, groups);
  if (indexed === undefined) return undefined;
  const searched = indexed.map((each) => ({ ...each, leaves: withSearch(file, each, query) }));
  const pages = fewPagesOf(searched, query, areVariantsPlaced, Infinity)!;
  return { pages, areFew: pages.length <= mostPages(pagesIn(indexed)) };
}

/** The statistics of pages, with those of strings searched for bytes (`mayHoldBytes`). */
function withSearch(
  file: SegmentFile,
  { group, firstRows, leaves }: IndexedGroup,
  query: PageQuery,
): IndexedGroup['leaves'] {
  const count = firstRows.length - 1;
  return leavesOf(file, query).map((leaf) => {
    const known = leaves.find(({ key }) => key === leaf.key)?.pages;
    const { dictionaryOffset } = group.chunks[leaf.index]!;
    if (leaf.physical !== physicalType.byteArray || dictionaryOffset !== undefined)
      return { key: leaf.key, pages: known ?? Array.from({ length: count }, () => ({ nulls: 0 })) };
    const search = pageSearch(file, group.chunks[leaf.index]!);
    const pages = Array.from({ length: count }, (_, page): PageStats => ({
      nulls: 0,
      ...known?.[page],
      mayHoldBytes: (bytes) => search(bytes)[page] !== 0,
    }));
    return { key: leaf.key, pages };
  });
}

/** A function that tells for each page of a chunk whether it may hold a string with these bytes: 0 if not. */
function pageSearch(file: SegmentFile, chunk: SegmentChunk): (bytes: Buffer) => readonly number[] {
  const found = new Map<Buffer, readonly number[]>();
  return (bytes) => {
    let pages = found.get(bytes);
    if (pages === undefined) found.set(bytes, (pages = searchPages(file, chunk, bytes)));
    return pages;
  };
}

function searchPages(file: SegmentFile, chunk: SegmentChunk, wanted: Buffer): readonly number[] {
  const pages: number[] = [];
  for (const { body, encoding } of pagesOf(file, [chunk])) {
    // Only in the plain encoding are the bytes of a string behind one another.
    const isFound = encoding !== encodingId.plain || holdsBytes(body.bytes, wanted);
    pages.push(isFound ? 1 : 0);
  }
  return pages;
}

/**
 * The rows of a segment that may hold a match, by the statistics of the pages, where all columns that the predicate reads are in memory.
 * Undefined if evaluating it over all rows takes about as long, or if the file lacks the page index.
 */
export function spansToRead(
  file: SegmentFile,
  query: PageQuery,
  areVariantsPlaced = false,
): readonly RowSpan[] | undefined {
  const indexed = indexedGroups(file, query, file.groups);
  if (indexed === undefined) return undefined;
  if (pagesIn(indexed) * leastPageNs > file.rows * query.perRow) return undefined;
  const most = mostPages(pagesIn(indexed));
  const pages = fewPagesOf(indexed, query, areVariantsPlaced, most);
  const spans: { readonly first: number; rows: number }[] = [];
  for (const { first, rows } of pages ?? []) {
    const last = spans.at(-1);
    if (last !== undefined && last.first + last.rows === first) last.rows += rows;
    else spans.push({ first, rows });
  }
  return pages && spans;
}

/** The page index of a row group, as far as the statistics of the pages are tested. */
interface IndexedGroup {
  readonly group: RowGroup;
  /** The first row of each page, as in `OffsetIndex`. */
  readonly firstRows: Int32Array;
  /** For some leaves, the statistics of their pages. */
  readonly leaves: readonly { readonly key: string; readonly pages: readonly PageStats[] }[];
}

type PageStats = StoredRows['stats'][string];

/** Undefined if a chunk has no page index. */
function indexedGroups(
  file: SegmentFile,
  query: PageQuery,
  groups: readonly RowGroup[],
): readonly IndexedGroup[] | undefined {
  const leaves = leavesOf(file, query);
  const indexed: IndexedGroup[] = [];
  for (const group of groups) {
    const pages = leaves.map(({ index }) => file.pages(group, group.chunks[index]!));
    if (pages.length === 0 || pages.includes(undefined)) return undefined;
    const { firstRows } = pages[0]!;
    const tested = leaves.flatMap((leaf) => {
      const statistics = statisticsOf(file, group.chunks[leaf.index]!, leaf);
      const isWhole = statistics?.length === firstRows.length - 1;
      return isWhole ? [{ key: leaf.key, pages: statistics }] : [];
    });
    indexed.push({ group, firstRows, leaves: tested });
  }
  return indexed;
}

/** Reads the page index of a field, which the file then keeps: queries use it for columns in memory, too. */
export function readPageIndex(file: SegmentFile, columns: Columns, field: FieldRef): void {
  const path = physicalPath(columns, field.path);
  const leaf = path && file.leaf(path);
  if (leaf === undefined) return;
  for (const group of file.groups) {
    const chunk = group.chunks[leaf.index]!;
    file.pages(group, chunk);
    statisticsOf(file, chunk, leaf);
  }
}

function pagesIn(groups: readonly IndexedGroup[]): number {
  return groups.reduce((sum, { firstRows }) => sum + firstRows.length - 1, 0);
}

/** The pages that may hold a match; undefined if they are more than `most`. */
function fewPagesOf(
  groups: readonly IndexedGroup[],
  { columns, mayHold }: PageQuery,
  areVariantsPlaced: boolean,
  most: number,
): readonly RowPage[] | undefined {
  const found: RowPage[] = [];
  for (const { group, firstRows, leaves } of groups) {
    // One reused object for all pages: a query tests hundreds of them.
    const stats: Record<string, PageStats> = {};
    const stored = { rows: 0, columns, stats, areVariantsPlaced };
    for (let number = 0; number < firstRows.length - 1; number++) {
      stored.rows = firstRows[number + 1]! - firstRows[number]!;
      for (const { key, pages } of leaves) stats[key] = pages[number]!;
      if (!mayHold(stored)) continue;
      if (found.length + 1 > most) return undefined;
      found.push({ group, number, first: group.first + firstRows[number]!, rows: stored.rows });
    }
  }
  return found;
}

/** The statistics of each chunk's pages, in the form that conditions test. */
const knownStatistics = new WeakMap<SegmentChunk, readonly PageStats[]>();

function statisticsOf(
  file: SegmentFile,
  chunk: SegmentChunk,
  leaf: SegmentLeaf,
): readonly PageStats[] | undefined {
  // In a list, the statistics of a leaf describe values, not rows.
  if (leaf.maxRepetition > 0) return undefined;
  const known = knownStatistics.get(chunk);
  if (known !== undefined) return known;
  const made = file.statistics(chunk, leaf)?.map(statsOf);
  if (made !== undefined) knownStatistics.set(chunk, made);
  return made;
}

function statsOf({ nulls, min, max }: PageStatistics): PageStats {
  const isBounded = min !== undefined && max !== undefined && isFinite(min) && isFinite(max);
  return isBounded ? { nulls, min, max } : { nulls };
}

/** Whether a bound may rule out pages: false if it is NaN or infinite. */
function isFinite(bound: Bound): boolean {
  return typeof bound !== 'number' || Number.isFinite(bound);
}

/**
 * The matching rows of a segment of `rows` rows, looked for in these pages or other spans of rows; undefined if the columns of one do not decide.
 */
export function matchPages<S extends RowSpan>(
  pages: readonly S[],
  rows: number,
  match: Matcher,
  columnOf: (page: S, field: FieldRef) => MemoryColumn | undefined,
): SelectionVector | undefined {
  const numbers: number[] = [];
  let mask: Uint8Array | undefined;
  for (const page of pages) {
    const tested = runToEnd(match({ rows: page.rows, column: (field) => columnOf(page, field) }));
    if (isUnsupported(tested)) return undefined;
    const found = settleSelection(tested, rows);
    if (found === 'none') continue;
    if (isSparse(found)) for (const row of found) numbers.push(page.first + row);
    else {
      mask ??= new Uint8Array(rows);
      if (found === 'all') mask.fill(1, page.first, page.first + page.rows);
      else mask.set(found, page.first);
    }
    if (typeof tested === 'object') releaseBytes(tested);
  }
  if (mask === undefined) return numbers.length === 0 ? 'none' : Int32Array.from(numbers);
  for (const row of numbers) mask[row] = 1;
  return mask;
}

/** Like `matchPages`, for columns in memory. */
export function matchSpans(
  spans: readonly RowSpan[],
  view: SegmentView,
  match: Matcher,
): SelectionVector | undefined {
  return matchPages(spans, view.rows, match, ({ first, rows }, field) => {
    const column = view.column(field);
    return column && columnRows(column, first, first + rows);
  });
}
