import { reservedColumns } from '../../store/arrow.js';
import { leafKey } from '../../store/stats.js';
import type { Column, Columns } from '../../core/types.js';
import type { StoredRows } from './kind.js';
import type { FieldRef } from './predicate.js';

/** A field's column in stored rows, with its statistics. Those of a list count the null lists, and nothing else. */
export interface SegmentColumn {
  readonly stats: StoredRows['stats'][string];
  readonly isList: boolean;
  readonly type: Column['type'];
}

/** `absent`: the segment has no such column, so the field is missing in all its records. `unknown`: it has no statistics. */
export type FoundColumn = SegmentColumn | 'absent' | 'unknown';

type Located = 'absent' | 'unknown' | { readonly key: string; readonly column: Column };

/** Returns a function that finds the field's column in segments. Each schema is searched once. */
export function columnFinder(field: FieldRef): (segment: StoredRows) => FoundColumn {
  const key = leafKey(field.path);
  // Hundreds of segments or pages, one after the other, have the same schema.
  let last: Columns | undefined;
  let located!: Located;
  return ({ columns, stats }) => {
    if (columns !== last) {
      located = locationOf(columns, key, field);
      last = columns;
    }
    if (typeof located === 'string') return located;
    const leaf = Object.hasOwn(stats, located.key) ? stats[located.key] : undefined;
    const { isList, type } = located.column;
    return leaf === undefined ? 'unknown' : { stats: leaf, isList, type };
  };
}

/** By schema and by `leafKey` of the path: segments of the same data are asked for the same fields by query after query. */
const locations = new WeakMap<Columns, Map<string, Located>>();

function locationOf(columns: Columns, key: string, field: FieldRef): Located {
  let known = locations.get(columns);
  if (known === undefined) locations.set(columns, (known = new Map()));
  let located = known.get(key);
  if (located === undefined) known.set(key, (located = locate(columns, field)));
  return located;
}

function locate(columns: Columns, field: FieldRef): Located {
  let siblings: Columns = columns;
  let column = reservedColumns.find(({ name }) => name === field.path[0]);
  const physical: string[] = [];
  for (const [depth, name] of field.path.entries()) {
    if (column?.isList) return 'unknown'; // inside a list of objects
    if (depth > 0 || column === undefined)
      column = siblings.find((candidate) => candidate.name === name);
    if (column === undefined) return 'absent';
    physical.push(column.physical);
    siblings = column.children ?? [];
  }
  return column === undefined ? 'unknown' : { key: leafKey(physical), column };
}
