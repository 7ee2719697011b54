import type { RowMatches } from '../../../engine/change/replace-rows.js';
import { ascendingOrder } from '../../../engine/core/ascending.js';
import type { Columns } from '../../../engine/core/types.js';
import { leafKey } from '../../../engine/store/stats.js';
import type { Segment } from '../../../engine/store/store.js';

/** Records in a segment that replaces rows, at most. */
const maxRows = 1 << 17;
/** With fewer records for each thread, the work is not worth another segment. */
const fewRows = 1 << 14;

/** The matches in the order of their row ids. */
export function byRowId(matches: RowMatches): RowMatches {
  return inOrder(matches, ascendingOrder(matches.rowIds));
}

/**
 * Divides matches into those of the segments that are written, so that all threads have work. Parts of the order of row ids read each page of
 * the replaced rows once; if none has to be read (`isWhole`), parts of the order of the given records read each page of these once instead.
 */
export function partsOf(
  matches: RowMatches,
  threads: number,
  isWhole: boolean,
): readonly RowMatches[] {
  const count = matches.given.length;
  if (count === 0) return [];
  const ordered = isWhole
    ? inOrder(matches, ascendingOrder(Float64Array.from(matches.files)))
    : matches;
  const parts = Math.max(Math.ceil(count / maxRows), Math.min(threads, Math.ceil(count / fewRows)));
  const cut = (i: number): number => Math.floor((i * count) / parts);
  return Array.from({ length: parts }, (_, i) => byRowId(sliceOf(ordered, cut(i), cut(i + 1))));
}

/** For each of the given segments, its rows that are in no match, ascending. */
export function restsOf(given: readonly Segment[], matches: RowMatches): readonly Int32Array[] {
  const isMatched = given.map(({ rows }) => new Uint8Array(rows));
  for (const [i, row] of matches.given.entries()) isMatched[matches.files[i]!]![row] = 1;
  return isMatched.map((matched) => {
    const rest = new Int32Array(matched.length);
    let count = 0;
    for (let row = 0; row < matched.length; row++) if (matched[row] === 0) rest[count++] = row;
    return rest.slice(0, count);
  });
}

/** Whether each record of a given segment has a value of its own for each of these columns, by the statistics. */
export function hasAll(
  { columns, stats }: Pick<Segment, 'columns' | 'stats'>,
  wanted: Columns,
  above: readonly string[] = [],
): boolean {
  return wanted.every((column) => {
    const own = columns.find(({ physical }) => physical === column.physical);
    if (own === undefined || (own.type === 'json' && !own.isList)) return false;
    const path = [...above, own.physical];
    if (column.children === undefined || own.isList) return stats[leafKey(path)]?.nulls === 0;
    return hasAll({ columns: own.children ?? [], stats }, column.children, path);
  });
}

function inOrder(
  { files, given, segments, rows, rowIds }: RowMatches,
  order: Int32Array,
): RowMatches {
  return {
    files: order.map((i) => files[i]!),
    given: order.map((i) => given[i]!),
    segments: order.map((i) => segments[i]!),
    rows: order.map((i) => rows[i]!),
    rowIds: Float64Array.from(order, (i) => rowIds[i]!),
  };
}

function sliceOf(
  { files, given, segments, rows, rowIds }: RowMatches,
  from: number,
  to: number,
): RowMatches {
  return {
    files: files.slice(from, to),
    given: given.slice(from, to),
    segments: segments.slice(from, to),
    rows: rows.slice(from, to),
    rowIds: rowIds.slice(from, to),
  };
}
