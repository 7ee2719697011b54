import type { RowMatches } from '../../../engine/change/replace-rows.js';
import { ascendingOrder } from '../../../engine/core/ascending.js';
import type { Columns } from '../../../engine/core/types.js';
import { leafKey } from '../../../engine/store/stats.js';
import type { Segment } from '../../../engine/store/store.js';

/** Records in a segment that replaces rows, at most. */
const maxRows = 1 << 17;
/** The number of records per thread below which the work is not worth another segment. */
const fewRows = 1 << 14;

/** The matches in the order of their row ids. */
export function byRowId(matches: RowMatches): RowMatches {
  const order = ascendingOrder(matches.rowIds);
  return order === undefined ? matches : pickedRows(matches, order);
}

/**
 * Divides matches, which are in the order of their row ids, into those of the segments that are written, so that all threads have work. Parts of that order read each page of
 * the replaced rows once. If none has to be read (`isWhole`), parts of the order of the given records read each page of these once instead.
 */
export function partsOf(
  matches: RowMatches,
  given: readonly Pick<Segment, 'rows'>[],
  threads: number,
  isWhole: boolean,
): readonly RowMatches[] {
  const count = matches.given.length;
  const parts = Math.max(Math.ceil(count / maxRows), Math.min(threads, Math.ceil(count / fewRows)));
  const ranks = isWhole ? givenRanks(matches, given) : undefined;
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
  return members.map((some) => pickedRows(matches, some));
}

/** For each match, the number of other matches with earlier given records. */
function givenRanks(
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
export function restsOf(given: readonly Segment[], matches: RowMatches): readonly Int32Array[] {
  const isMatched = given.map(({ rows }) => new Uint8Array(rows));
  const { files, given: matched } = matches;
  for (let i = 0; i < matched.length; i++) isMatched[files[i]!]![matched[i]!] = 1;
  return isMatched.map((flags) => {
    const restRows = new Int32Array(flags.length);
    let count = 0;
    for (let row = 0; row < flags.length; row++) if (flags[row] === 0) restRows[count++] = row;
    return restRows.slice(0, count);
  });
}

/** Whether each record of a given segment has a value for each of these columns, by the statistics. */
export function hasAll(
  { columns, stats }: Pick<Segment, 'columns' | 'stats'>,
  wanted: Columns,
  above: readonly string[] = [],
): boolean {
  return wanted.every((column) => {
    const ownColumn = columns.find(({ physical }) => physical === column.physical);
    if (ownColumn === undefined || (ownColumn.type === 'json' && !ownColumn.isList)) return false;
    const path = [...above, ownColumn.physical];
    if (column.children === undefined || ownColumn.isList) return stats[leafKey(path)]?.nulls === 0;
    return hasAll({ columns: ownColumn.children ?? [], stats }, column.children, path);
  });
}

/** The matches with these indices. */
function pickedRows(
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
