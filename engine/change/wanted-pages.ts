import type { DecodedValues } from '../parquet/decode-values.js';
import { dictionaryOf, type RowPage } from '../query/memory/page-column.js';
import type { RowGroup, SegmentFile } from '../store/segment-file.js';
import type { SegmentLeaf } from '../store/segment-leaves.js';
import { mayLieBetween, type OrderedValues, type WantedValues } from './wanted-values.js';

/** A column of the key in a segment, and the values that are looked up in it. */
export interface WantedLeaf {
  readonly leaf: SegmentLeaf;
  readonly wanted: WantedValues;
}

/** The pages of a segment in which keys are looked up. */
interface WantedPages {
  readonly pages: readonly RowPage[];
  /** For each column of the key, the number of pages that its bounds alone leave. */
  readonly pageCounts: readonly number[];
  /** Returns the entries of the dictionary of a column, as in `loadPage`. */
  entriesOf(leaf: SegmentLeaf, group: RowGroup): DecodedValues | undefined;
}

/**
 * A Bloom filter is asked only if at least this many rows are left per wanted string: if it excludes nothing, asking it has taken a small
 * part of the time of decoding these rows.
 */
const minRowsPerFilterTest = 32;

/**
 * Returns the pages of a segment that may contain a wanted key; undefined if the file has no page index. A page is left out if its bounds,
 * or the dictionary or the Bloom filter of its row group, show for one of the columns that it has no wanted value. Bounds are tested first;
 * dictionaries only if pages are left, and Bloom filters only if these have at least `minRowsPerFilterTest` rows per wanted string.
 */
export function wantedPages(
  file: SegmentFile,
  columns: readonly WantedLeaf[],
): WantedPages | undefined {
  const dictionaries = new Map<object, DecodedValues | undefined>();
  const entriesOf = (leaf: SegmentLeaf, group: RowGroup): DecodedValues | undefined => {
    const chunk = group.chunks[leaf.index]!;
    if (!dictionaries.has(chunk)) dictionaries.set(chunk, dictionaryOf(file, leaf, group));
    return dictionaries.get(chunk);
  };
  const pages: RowPage[] = [];
  const pagesLeft = columns.map(() => 0);
  for (const group of file.groups) {
    const pagesWithinBounds = pagesByBounds(file, group, columns, pagesLeft);
    if (pagesWithinBounds === undefined) return undefined;
    pages.push(...pagesByContent(file, group, columns, pagesWithinBounds, entriesOf));
  }
  return { pages, pageCounts: pagesLeft, entriesOf };
}

/** Returns the pages of a row group that the bounds leave; undefined without an index. Adds to `pagesLeft` how many each column leaves. */
function pagesByBounds(
  file: SegmentFile,
  group: RowGroup,
  columns: readonly WantedLeaf[],
  pagesLeft: number[],
): readonly RowPage[] | undefined {
  const firstLeaf = columns[0]!.leaf;
  const index = file.offsetIndexOf(group, group.chunks[firstLeaf.index]!);
  if (index === undefined) return undefined;
  const tests = columns.map((column) => pageTest(file, group, column, column.wanted.ordered));
  const pages: RowPage[] = [];
  for (let number = 0; number + 1 < index.firstRows.length; number++) {
    const from = index.firstRows[number]!;
    const rows = index.firstRows[number + 1]! - from;
    let isLeft = true;
    for (const [i, test] of tests.entries()) {
      if (test(number)) pagesLeft[i]!++;
      else isLeft = false;
    }
    if (isLeft) pages.push({ group, number, first: group.first + from, rows });
  }
  return pages;
}

/** Returns a test whether a page of a row group may contain one of the values, according to its bounds. */
function pageTest(
  file: SegmentFile,
  group: RowGroup,
  { leaf, wanted }: WantedLeaf,
  values: OrderedValues,
): (page: number) => boolean {
  const chunk = group.chunks[leaf.index]!;
  if (chunk.slots === chunk.nulls) return () => false;
  const statistics = wanted.canExclude(leaf.physical)
    ? file.pageStatisticsOf(chunk, leaf)
    : undefined;
  if (statistics === undefined) return () => true;
  return (page) => {
    const { min, max } = statistics[page]!;
    return min !== undefined && max !== undefined && mayLieBetween(values, min, max);
  };
}

/** Returns those of the pages that the dictionaries and Bloom filters of their row group leave. */
function pagesByContent(
  file: SegmentFile,
  group: RowGroup,
  columns: readonly WantedLeaf[],
  pages: readonly RowPage[],
  entriesOf: WantedPages['entriesOf'],
): readonly RowPage[] {
  let remainingPages = pages;
  for (const column of columns) {
    const { leaf, wanted } = column;
    if (remainingPages.length === 0 || !wanted.canExclude(leaf.physical)) continue;
    const chunk = group.chunks[leaf.index]!;
    const entries = entriesOf(leaf, group);
    if (entries !== undefined) {
      if (!wanted.areAmong(entries, leaf.physical)) remainingPages = [];
      continue;
    }
    const rows = remainingPages.reduce((sum, page) => sum + page.rows, 0);
    if (chunk.bloomFilter === undefined || wanted.stringCount * minRowsPerFilterTest > rows)
      continue;
    const filter = file.filter(chunk);
    const values = filter && wanted.stringsIn(filter);
    if (values !== undefined) {
      const test = pageTest(file, group, column, values);
      remainingPages = remainingPages.filter(({ number }) => test(number));
    } else if (filter !== undefined) remainingPages = [];
  }
  return remainingPages;
}
