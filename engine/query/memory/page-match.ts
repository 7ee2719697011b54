import type { Columns } from '../../core/types.js';
import { mayContain as isInFilter, type FilterHash } from '../../parquet/bloom-filter.js';
import type { Bound } from '../../parquet/statistics.js';
import type { PageStatistics } from '../../parquet/read-footer.js';
import { isUnsupported } from '../unsupported.js';
import type { SegmentTest, StoredRows } from '../predicate/kind.js';
import { leafKey } from '../../store/stats.js';
import { fieldsRead } from '../predicate/kinds.js';
import { conditionsIn, type FieldRef, type Predicate } from '../predicate/predicate.js';
import { segmentTest } from '../predicate/prune.js';
import { isVariant, placeFields } from '../predicate/variant-place.js';
import type { MemoryColumn } from './column.js';
import { completed } from './cooperative-tasks.js';
import type { Matcher } from './evaluate.js';
import { isSparse, type SelectionVector } from './match/selection-vector.js';
import type { RowPage } from './page-column.js';
import { fieldName } from './segment-cache.js';
import type { RowGroup, SegmentChunk, SegmentFile } from './segment-file.js';
import { physicalPath, type SegmentLeaf } from './segment-leaves.js';
import { releaseBytes } from './selection-bytes.js';

/** A predicate whose matches can be looked for in single pages, prepared for one query. */
export interface PageQuery {
  /** The keys in the cache (`fieldName`) of the fields that the predicate reads. */
  readonly names: readonly string[];
  /** By `leafKey`: the leaves that store the fields, and those whose statistics tell something about them. */
  readonly leaves: readonly string[];
  readonly columns: Columns;
  readonly mayHold: SegmentTest;
}

/**
 * Prepares a predicate. Undefined if it cannot be evaluated page by page: it reads the elements of a list of objects or what the text
 * index found in whole segments, it has a long list of values, or it reads no stored field at all.
 */
export function pageQuery(predicate: Predicate, columns: Columns): PageQuery | undefined {
  const isWhole = conditionsIn(predicate).some(
    (condition) =>
      ['any', 'terms', 'phrase'].includes(condition.kind) ||
      (condition.kind === 'in' && condition.values.length > maxValues),
  );
  if (isWhole) return undefined;
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
  return { names: [...names], leaves: [...leaves], columns, mayHold: segmentTest(predicate) };
}

/** A condition on more values than this is no lookup: nearly every page may hold one of them. */
const maxValues = 64;

/** Segments of fewer pages are read as a whole. */
const fewPages = 8;
/** At most one page in this many is read by itself: of more, the columns are worth keeping. */
const pageShare = 8;

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
    const stats: Record<string, StoredRows['stats'][string]> = {};
    for (const leaf of leaves) {
      const chunk = group.chunks[leaf.index]!;
      let words: Uint32Array | undefined;
      const mayContain = (hash: FilterHash): boolean => {
        words ??= filterOf(chunk);
        return words === undefined || isInFilter(words, hash);
      };
      // A list without values is a null, too, so that the nulls of a list say nothing of its rows.
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
  const leaves = leavesOf(file, query);
  if (leaves.length === 0) return undefined;
  const found: RowPage[] = [];
  let total = 0;
  for (const group of groups) {
    const pages = pagesOf(file, query, group, leaves, areVariantsPlaced);
    if (pages === undefined) return undefined;
    total += pages.length;
    for (const { page, stored } of pages) if (query.mayHold(stored)) found.push(page);
  }
  if (found.length === 0) return found;
  return total < fewPages || found.length * pageShare > total ? undefined : found;
}

/** A page, and its statistics as conditions test them. */
interface PageStored {
  readonly page: RowPage;
  readonly stored: StoredRows;
}

/** By the leaves whose statistics are tested, the pages of row groups that were asked for them. */
const knownPages = new WeakMap<RowGroup, Map<string, readonly PageStored[]>>();
/** Lookups ask for the same few fields again and again. */
const maxKnown = 4;

function pagesOf(
  file: SegmentFile,
  { columns, leaves: keys }: PageQuery,
  group: RowGroup,
  leaves: readonly SegmentLeaf[],
  areVariantsPlaced: boolean,
): readonly PageStored[] | undefined {
  const key = keys.join('\n');
  let byLeaves = knownPages.get(group);
  const known = byLeaves?.get(key);
  if (known !== undefined && known[0]?.stored.columns === columns) return known;
  const parts = leaves.map((leaf) => {
    const chunk = group.chunks[leaf.index]!;
    // The statistics of a leaf in a list are those of its values, not of its rows.
    const statistics = leaf.maxRepetition > 0 ? undefined : file.statistics(chunk, leaf);
    return { leaf, statistics, pages: file.pages(group, chunk) };
  });
  const { pages } = parts[0]!;
  if (pages === undefined || parts.some((part) => part.pages === undefined)) return undefined;
  const { firstRows } = pages;
  const made: PageStored[] = [];
  for (let number = 0; number < firstRows.length - 1; number++) {
    const rows = firstRows[number + 1]! - firstRows[number]!;
    const stats: Record<string, StoredRows['stats'][string]> = {};
    for (const { leaf, statistics } of parts) {
      const page = statistics?.[number];
      if (page !== undefined) stats[leaf.key] = statsOf(page);
    }
    const page = { group, number, first: group.first + firstRows[number]!, rows };
    made.push({ page, stored: { rows, columns, stats, areVariantsPlaced } });
  }
  if (byLeaves === undefined || byLeaves.size >= maxKnown)
    knownPages.set(group, (byLeaves = new Map()));
  byLeaves.set(key, made);
  return made;
}

function statsOf({ nulls, min, max }: PageStatistics): StoredRows['stats'][string] {
  const isBounded = min !== undefined && max !== undefined && isFinite(min) && isFinite(max);
  return isBounded ? { nulls, min, max } : { nulls };
}

/** False for bounds that say nothing. */
function isFinite(bound: Bound): boolean {
  return typeof bound !== 'number' || Number.isFinite(bound);
}

/** The rows of a segment of `rows` rows that match, looked for in these pages; undefined if the columns of a page do not tell. */
export function matchPages(
  pages: readonly RowPage[],
  rows: number,
  match: Matcher,
  columnOf: (page: RowPage, field: FieldRef) => MemoryColumn | undefined,
): SelectionVector | undefined {
  const numbers: number[] = [];
  let mask: Uint8Array | undefined;
  for (const page of pages) {
    const found = completed(match({ rows: page.rows, column: (field) => columnOf(page, field) }));
    if (isUnsupported(found)) return undefined;
    if (found === 'none') continue;
    if (isSparse(found)) {
      for (const row of found) numbers.push(page.first + row);
      continue;
    }
    mask ??= new Uint8Array(rows);
    if (found === 'all') mask.fill(1, page.first, page.first + page.rows);
    else {
      mask.set(found, page.first);
      releaseBytes(found);
    }
  }
  if (mask === undefined) return numbers.length === 0 ? 'none' : Int32Array.from(numbers);
  for (const row of numbers) mask[row] = 1;
  return mask;
}
