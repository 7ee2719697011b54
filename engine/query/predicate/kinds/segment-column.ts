import { reservedColumns } from '../../../store/arrow-columns.js';
import { leafKey } from '../../../store/segment-stats.js';
import type { Column, Columns } from '../../../core/types.js';
import type { StoredRows } from './kind.js';
import type { FieldRef } from '../predicate.js';

/** The column of a field in stored rows, with its statistics. For a list, the number of nulls counts only null lists. */
interface SegmentColumn {
  readonly stats: StoredRows['stats'][string];
  readonly isList: boolean;
  readonly type: Column['type'];
}

/**
 * `absent`: the segment has no such column, so the field is missing in all its records. `unknown`: the column has no statistics, or lies
 * inside a list of objects.
 */
type SegmentColumnResult = SegmentColumn | 'absent' | 'unknown';

type ColumnLocationInSegment =
  'absent' | 'unknown' | { readonly key: string; readonly column: Column };

/** Returns a function that finds the column of a field in segments. Each schema is searched once. */
export function columnFinder(field: FieldRef): (segment: StoredRows) => SegmentColumnResult {
  const key = leafKey(field.path);
  // Hundreds of consecutive segments or pages have the same schema, so the last one is compared first.
  let last: Columns | undefined;
  let lastLocated!: ColumnLocationInSegment;
  return ({ columns, stats }) => {
    if (columns !== last) {
      lastLocated = cachedLocation(columns, key, field);
      last = columns;
    }
    if (typeof lastLocated === 'string') return lastLocated;
    const leaf = Object.hasOwn(stats, lastLocated.key) ? stats[lastLocated.key] : undefined;
    const { isList, type } = lastLocated.column;
    return leaf === undefined ? 'unknown' : { stats: leaf, isList, type };
  };
}

/** Locations of columns, by schema and by `leafKey` of the path: consecutive queries use the same fields of the same schema. */
const locationsByColumns = new WeakMap<Columns, Map<string, ColumnLocationInSegment>>();

function cachedLocation(columns: Columns, key: string, field: FieldRef): ColumnLocationInSegment {
  let knownLocations = locationsByColumns.get(columns);
  if (knownLocations === undefined) locationsByColumns.set(columns, (knownLocations = new Map()));
  let location = knownLocations.get(key);
  if (location === undefined) knownLocations.set(key, (location = locateColumn(columns, field)));
  return location;
}

function locateColumn(columns: Columns, field: FieldRef): ColumnLocationInSegment {
  let siblings: Columns = columns;
  let column = reservedColumns.find(({ name }) => name === field.path[0]);
  const physical: string[] = [];
  for (const [depth, name] of field.path.entries()) {
    if (column?.isList) return 'unknown'; // the field is inside a list of objects
    if (depth > 0 || column === undefined)
      column = siblings.find((candidate) => candidate.name === name);
    if (column === undefined) return 'absent';
    physical.push(column.physical);
    siblings = column.children ?? [];
  }
  return column === undefined ? 'unknown' : { key: leafKey(physical), column };
}
