import { nsPerRow } from '../predicate/cost.js';
import type { Matcher } from './evaluate.js';
import { withoutRows, type SelectionVector } from './match/selection-vector.js';
import {
  groupsToRead,
  matchPages,
  matchSpans,
  pagesToRead,
  spansToRead,
  type PageQuery,
} from './page-match.js';
import type { ShardSegment, ShardSnapshot } from './protocol.js';
import type { SegmentCache } from './segment-cache.js';

/** The rows of a segment that match, from the few pages that may hold one; undefined if many pages may, or looking for them gains nothing. */
export function matchFewPages(
  segments: SegmentCache,
  snapshot: ShardSnapshot,
  segment: ShardSegment,
  paged: PageQuery,
  missed: { inARow: number },
  match: Matcher,
): { readonly found: SelectionVector; readonly by: 'filters' | 'pages' } | undefined {
  const cache = segments.pages(snapshot, segment);
  const { file } = cache;
  const { areVariantsPlaced: arePlaced } = segment;
  const isInMemory = paged.names.every(cache.hasColumn);
  const hashes = isInMemory ? paged.lookedUp.map(cache.hashes) : [];
  // An existing hash table finds the rows at once.
  if (hashes.includes('made')) return undefined;
  // Making a table takes as long as a hundred lookups, so the bloom filters decide in which segments one is needed.
  const isFiltered = !isInMemory || hashes.includes('unmade');
  // If the pages of some segments rule out nothing, the pages of the others will not either.
  const mayGain = missed.inARow < mostMisses;
  if (!isFiltered && !mayGain) return undefined;
  const groups = isFiltered ? groupsToRead(file, paged, cache.filter, arePlaced) : file.groups;
  if (groups.length === 0) return { found: 'none', by: 'filters' };
  if (!mayGain) return undefined;
  const view = segments.view(snapshot, segment);
  // Whole columns would be looked up by tables that have to be made.
  const hashing = hashes.includes('unmade') ? nsPerRow.hashing : 0;
  const costly = { ...paged, perRow: paged.perRow + hashing };
  const found = isInMemory
    ? unlessMissed(spansToRead(file, costly, arePlaced), missed, (spans) =>
        matchSpans(spans, view, match),
      )
    : unlessMissed(pagesToRead(file, paged, groups, arePlaced), missed, (pages) =>
        matchPages(pages, segment.rows, match, cache.column),
      );
  if (found === undefined) return undefined;
  const { deleted } = view;
  return { found: deleted ? withoutRows(found, deleted, segment.rows) : found, by: 'pages' };
}

/** The number of consecutive segments with too many matching pages, after which a query stops looking at pages. */
const mostMisses = 4;

/** The result of `match` for the parts to read; undefined without any, which counts as a miss. */
function unlessMissed<P, R>(
  parts: P | undefined,
  missed: { inARow: number },
  match: (parts: P) => R,
): R | undefined {
  missed.inARow = parts === undefined ? missed.inARow + 1 : 0;
  return parts && match(parts);
}
