import { nsPerRow } from '../predicate/predicate-cost.js';
import type { SegmentView } from './match/column.js';
import type { Matcher } from './evaluate.js';
import { withoutRows, type SelectionVector } from './match/selection-vector.js';
import {
  columnBytesOf,
  groupsToRead,
  matchPages,
  matchSpans,
  pagesBySearch,
  pagesToRead,
  spansToRead,
  type PagePredicate,
} from './page-selection.js';
import type { ShardSegment } from './shard-protocol.js';
import type { SegmentPages } from './segment-cache.js';
import type { RowGroup } from '../../store/segment-file.js';

/** The rows of a segment that match, and how they were found. */
interface PageMatches {
  readonly found: SelectionVector;
  readonly by: 'filters' | 'pages' | 'searches';
}

/** Says that a segment is to be evaluated as a whole: with the hash table of a column in memory, or by a scan of whole columns. */
interface WholeSegmentEvaluation {
  readonly found: undefined;
  readonly by: 'hashes' | 'columns';
}

const onColumns: WholeSegmentEvaluation = { found: undefined, by: 'columns' };

/**
 * After this many consecutive segments in which too many pages may contain a match, or in which single pages cannot be used, a query no
 * longer looks at single pages.
 */
const maxConsecutiveMisses = 4;

/** Finds the matches of one query in segments in which only a few pages may contain any. */
export class PageMatcher {
  readonly #predicate: PagePredicate;
  readonly #match: Matcher;
  /** The number of segments without usable single pages (`maxConsecutiveMisses`) since the last one in which few pages may match. */
  #misses = 0;

  constructor(predicate: PagePredicate, match: Matcher) {
    this.#predicate = predicate;
    this.#match = match;
  }

  /**
   * Returns the matching rows of a segment, or that it is to be evaluated as a whole, because many pages may contain a match or because
   * looking at single pages gains nothing.
   */
  findMatches(
    pages: SegmentPages,
    view: SegmentView,
    segment: ShardSegment,
  ): PageMatches | WholeSegmentEvaluation {
    const predicate = this.#predicate;
    const { areVariantsPlaced: arePlaced } = segment;
    const isInMemory = [...predicate.names.keys()].every(pages.hasColumn);
    const hashes = isInMemory ? predicate.lookedUp.map(pages.hashTableState) : [];
    // An existing hash table finds the rows without testing single pages.
    if (hashes.includes('made')) return { found: undefined, by: 'hashes' };
    // Building a hash table takes as long as a hundred lookups, so the Bloom filters decide in which segments one is needed.
    const isFiltered = !isInMemory || hashes.includes('unmade');
    // If the page statistics of several segments exclude too little, those of the other segments probably will, too.
    const mayGain = this.#misses < maxConsecutiveMisses;
    // Opening a file of thousands of columns takes longer than evaluating a condition on a column in memory.
    if (!isFiltered && (!mayGain || !pages.isFileCached)) return onColumns;
    const { file } = pages;
    const groups = isFiltered
      ? groupsToRead(file, predicate, pages.filter, arePlaced)
      : file.groups;
    if (groups.length === 0) return { found: 'none', by: 'filters' };
    if (!mayGain) return onColumns;
    const matches = isInMemory
      ? this.#findInMemory(pages, view, hashes.includes('unmade'), arePlaced)
      : this.#findInFile(pages, groups, segment);
    if (matches === undefined) {
      this.#misses++;
      return onColumns;
    }
    const { deleted } = view;
    const { found: matchingRows, by } = matches;
    return { found: deleted ? withoutRows(matchingRows, deleted, segment.rows) : matchingRows, by };
  }

  #findInMemory(
    { file }: SegmentPages,
    view: SegmentView,
    areHashesUnmade: boolean,
    arePlaced: boolean,
  ): PageMatches | undefined {
    // Evaluating the whole column would require building its hash tables first, so the cost of building them is added.
    const hashing = areHashesUnmade ? nsPerRow.hashing : 0;
    const costlierPredicate = { ...this.#predicate, perRow: this.#predicate.perRow + hashing };
    const spans = spansToRead(file, costlierPredicate, arePlaced);
    if (spans !== undefined) this.#misses = 0;
    return spans && matchesBy('pages', matchSpans(spans, view, this.#match));
  }

  #findInFile(
    { file, column, hasColumn, isWorthLoading }: SegmentPages,
    groups: readonly RowGroup[],
    { rows, areVariantsPlaced: arePlaced }: ShardSegment,
  ): PageMatches | undefined {
    const predicate = this.#predicate;
    const fewPages = pagesToRead(file, predicate, groups, arePlaced);
    if (fewPages !== undefined) {
      this.#misses = 0;
      return matchesBy('pages', matchPages(fewPages, rows, this.#match, column));
    }
    if (!predicate.hasLiterals) return undefined;
    const missingNames = [...predicate.names.keys()].filter((name) => !hasColumn(name));
    if (missingNames.some((name) => isWorthLoading(name, columnBytesOf(file, predicate, name)))) return undefined; // prettier-ignore
    const searchResult = pagesBySearch(file, predicate, groups, arePlaced);
    if (searchResult === undefined) return undefined;
    this.#misses = searchResult.areFew ? 0 : this.#misses + 1;
    return matchesBy('searches', matchPages(searchResult.pages, rows, this.#match, column));
  }
}

/** Returns the matches that were found in some pages; undefined if the pages could not be evaluated. */
function matchesBy(
  by: PageMatches['by'],
  matchingRows: SelectionVector | undefined,
): PageMatches | undefined {
  return matchingRows && { found: matchingRows, by };
}
