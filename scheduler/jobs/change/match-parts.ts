import type { RowMatches } from '../../../engine/change/replace-rows.js';
import { ascendingOrder } from '../../../engine/core/sorted-sets.js';
import type { Columns } from '../../../engine/core/types.js';
import { leafKey } from '../../../engine/store/segment-stats.js';
import type { Segment } from '../../../engine/store/store.js';

/** Maximum number of records in a segment that replaces rows. */
const maxSegmentRows = 1 << 17;
/** Minimum number of records per thread; fewer are not worth another segment. */
const minRowsPerThread = 1 << 14;

/** Returns the matches in the order of their row ids. */
export function sortByRowId(matches: RowMatches): RowMatches {
  const order = ascendingOrder(matches.rowIds);
  return order === undefined ? matches : matchesAtIndices(matches, order);
}

/**
 * Divides matches, which are in the order of their row ids, into one part per segment to write, so that all threads have work. Parts in the
 * order of row ids read each page of the replaced rows once. If no replaced row has to be read (`isWhole`), the parts follow the order of
 * the given records instead, so that each page of the given records is read once.
 */
export function divideMatches(
  matches: RowMatches,
  given: readonly Pick<Segment, 'rows'>[],
  threads: number,
  isWhole: boolean,
): readonly RowMatches[] {
  const count = matches.given.length;
  const parts = Math.max(
    Math.ceil(count / maxSegmentRows),
    Math.min(threads, Math.ceil(count / minRowsPerThread)),
  );
  const ranks = isWhole ? ranksByGivenRecord(matches, given) : undefined;
  const numbers = new Int32Array(count);
  const sizes = new Int32Array(parts);
  for (let i = 0; i < count; i++) {
    const part = Math.floor(((ranks === undefined ? i : ranks[i]!) * parts) / count);
    numbers[i] = part;
    sizes[part]!++;
  }
  const members = Array.from(sizes, (size) => new Int32Array(size));
  const ends = new Int32Array(parts);
  for (let i = 0; i < count; i++) members[numbers[i]!]![ends[numbers[i]!]!++] = i;
  return members.map((some) => matchesAtIndices(matches, some));
}

/** Returns for each match the number of other matches whose given record comes earlier. */
function ranksByGivenRecord(
  { files, given: rows }: RowMatches,
  given: readonly Pick<Segment, 'rows'>[],
): Int32Array {
  const firsts = new Int32Array(given.length + 1);
  for (const [file, segment] of given.entries()) firsts[file + 1] = firsts[file]! + segment.rows;
  const before = new Int32Array(firsts[given.length]! + 1);
  for (let i = 0; i < rows.length; i++) before[firsts[files[i]!]! + rows[i]! + 1]!++;
  for (let at = 1; at < before.length; at++) before[at]! += before[at - 1]!;
  const ranks = new Int32Array(rows.length);
  for (let i = 0; i < rows.length; i++) ranks[i] = before[firsts[files[i]!]! + rows[i]!]!;
  return ranks;
}

/** For each of the given segments, its rows without a match, ascending. */
export function unmatchedRows(
  given: readonly Segment[],
  matches: RowMatches,
): readonly Int32Array[] {
  return matchedFlags(given, [matches]).map((flags) => {
    const restRows = new Int32Array(flags.length);
    let count = 0;
    for (let row = 0; row < flags.length; row++) if (flags[row] === 0) restRows[count++] = row;
    return restRows.slice(0, count);
  });
}

/** The given records of matches, as in `RowMatches`. */
type MatchedRecords = Pick<RowMatches, 'files' | 'given'>;

/** Returns the number of given records that have a match. */
export function countMatchedRecords(
  given: readonly Segment[],
  matches: readonly MatchedRecords[],
): number {
  let count = 0;
  for (const flags of matchedFlags(given, matches))
    for (let row = 0; row < flags.length; row++) count += flags[row]!;
  return count;
}

/** Returns for each of the given segments one byte for each of its rows: 1 if the row has a match. */
function matchedFlags(
  given: readonly Segment[],
  matches: readonly MatchedRecords[],
): readonly Uint8Array[] {
  const isMatched = given.map(({ rows }) => new Uint8Array(rows));
  for (const { files, given: rows } of matches)
    for (let i = 0; i < rows.length; i++) isMatched[files[i]!]![rows[i]!] = 1;
  return isMatched;
}

/** Whether each record of a given segment has a value for each of the `wanted` columns, according to the statistics. */
export function hasValuesForAll(
  { columns, stats }: Pick<Segment, 'columns' | 'stats'>,
  wanted: Columns,
  above: readonly string[] = [],
): boolean {
  return wanted.every((column) => {
    const ownColumn = columns.find(({ physical }) => physical === column.physical);
    if (ownColumn === undefined || (ownColumn.type === 'json' && !ownColumn.isList)) return false;
    const path = [...above, ownColumn.physical];
    if (column.children === undefined || ownColumn.isList) return stats[leafKey(path)]?.nulls === 0;
    return hasValuesForAll({ columns: ownColumn.children ?? [], stats }, column.children, path);
  });
}

/** Returns the matches with the given indices. */
function matchesAtIndices(
  { files, given, segments, rows, rowIds }: RowMatches,
  indices: Int32Array,
): RowMatches {
  const count = indices.length;
  const someMatches = {
    files: new Int32Array(count),
    given: new Int32Array(count),
    segments: new Int32Array(count),
    rows: new Int32Array(count),
    rowIds: new Float64Array(count),
  };
  for (let at = 0; at < count; at++) {
    const i = indices[at]!;
    someMatches.files[at] = files[i]!;
    someMatches.given[at] = given[i]!;
    someMatches.segments[at] = segments[i]!;
    someMatches.rows[at] = rows[i]!;
    someMatches.rowIds[at] = rowIds[i]!;
  }
  return someMatches;
}
