import type { DatasetField } from '../../core/dataset-field.js';
import { LruCache } from '../../core/lru-cache.js';
import { reservedColumns } from '../../store/arrow-columns.js';
import type { Column, Columns } from '../../core/types.js';
import type { QueryRequest } from '../request/query-request.js';

/** A column of the answer: a stored column, or a declared field for which no record has a value. */
export interface ProjectedColumn {
  readonly column: Column;
  readonly isStored: boolean;
}

/**
 * Returns the columns that a query returns, without those that `fields` and `exclude_fields` exclude. They come in the order of `fields`,
 * if given; otherwise `_id`, `_commit`, and the dataset's fields by `ordering`, then as they were stored. Equal requests get the same array
 * object.
 *
 * Choice: with `fields`, keys come in the order of that list.
 */
export function project(
  columns: Columns,
  rows: readonly DatasetField[],
  request: Pick<QueryRequest, 'fields' | 'excludeFields'>,
): readonly ProjectedColumn[] {
  let known = projectionsByColumns.get(columns);
  if (known?.rows !== rows) {
    known = { rows, projections: new LruCache(maxCachedProjections) };
    projectionsByColumns.set(columns, known);
  }
  const { fields, excludeFields } = request;
  const key = fields === null && excludeFields.length === 0 ? '' : JSON.stringify([fields, excludeFields]); // prettier-ignore
  const projection = known.projections.get(key) ?? newProjection(columns, rows, request);
  known.projections.set(key, projection);
  return projection;
}

/** Maximum number of projections that are cached per version of a dataset. */
const maxCachedProjections = 16;

/**
 * The projections of recent requests, by the columns of a snapshot: requests repeat them, and the memory executor sends the same projection
 * to its threads only once.
 */
const projectionsByColumns = new WeakMap<
  Columns,
  {
    readonly rows: readonly DatasetField[];
    readonly projections: LruCache<string, readonly ProjectedColumn[]>;
  }
>();

function newProjection(
  columns: Columns,
  rows: readonly DatasetField[],
  request: Pick<QueryRequest, 'fields' | 'excludeFields'>,
): readonly ProjectedColumn[] {
  const available = [
    ...reservedColumns,
    ...sortByFieldOrdering(declaredColumn(columns, rows, request), rows, []),
  ];
  const wanted = request.fields ? pickPaths(available, request.fields) : available;
  const stored = new Set([...reservedColumns, ...columns].map((column) => column.name));
  return omitPaths(wanted, request.excludeFields).map((column) => ({
    column,
    isStored: stored.has(column.name),
  }));
}

/**
 * Returns the stored columns, then the declared top-level fields without a stored column. A dotted name without data is probably a member
 * of an object, which records without a value lack, so its field is returned only if the request names it.
 */
function declaredColumn(
  columns: Columns,
  rows: readonly DatasetField[],
  { fields }: Pick<QueryRequest, 'fields'>,
): Columns {
  const names = new Set([...reservedColumns, ...columns].map((column) => column.name));
  const missing = rows.filter(
    ({ path, name }) =>
      path.length === 1 && !names.has(name) && (fields !== null || !name.includes('.')),
  );
  return [
    ...columns,
    ...missing.map((row): Column => ({
      name: row.name,
      physical: row.name,
      type: row.dataType === 'auto' || row.dataType === 'object' ? 'string' : row.dataType,
      isList: row.isList === true,
    })),
  ];
}

function sortByFieldOrdering(
  columns: Columns,
  rows: readonly DatasetField[],
  above: readonly string[],
): Columns {
  const orders = new Map<string, number>();
  for (const row of rows) {
    if (row.ordering === null || row.path.length !== above.length + 1) continue;
    if (above.every((name, index) => row.path[index] === name))
      orders.set(row.path.at(-1)!, row.ordering);
  }
  const rank = (column: Column): number => orders.get(column.name) ?? Infinity;
  const sorted = columns.map((column) =>
    column.children
      ? { ...column, children: sortByFieldOrdering(column.children, rows, [...above, column.name]) }
      : column,
  );
  if (orders.size === 0) return sorted;
  // Infinity - Infinity is NaN, so ranks are compared rather than subtracted; the sort is stable.
  return sorted.sort((a, b) => (rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0));
}

type FieldPaths = readonly (readonly string[])[];

function pickPaths(columns: Columns, paths: FieldPaths): Columns {
  const names = [...new Set(paths.map((path) => path[0]!))];
  return names.flatMap((name) => {
    const column = columns.find((candidate) => candidate.name === name);
    if (!column) return [];
    const inside = paths.filter((path) => path[0] === name).map((path) => path.slice(1));
    if (!column.children || inside.some((path) => path.length === 0)) return [column];
    return [{ ...column, children: pickPaths(column.children, inside) }];
  });
}

function omitPaths(columns: Columns, paths: FieldPaths): Columns {
  if (paths.length === 0) return columns;
  return columns.flatMap((column) => {
    const inside = paths.filter((path) => path[0] === column.name).map((path) => path.slice(1));
    if (inside.length === 0) return [column];
    if (inside.some((path) => path.length === 0)) return [];
    const children = omitPaths(column.children ?? [], inside);
    return children.length === 0 ? [] : [{ ...column, children }];
  });
}
