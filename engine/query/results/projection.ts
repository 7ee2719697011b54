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
 * if given; otherwise `_id`, `_commit`, and the dataset's fields by `ordering`, then as they were stored. Equal requests get the same
 * array object while it is cached.
 *
 * Choice: with `fields`, keys come in the order of that list.
 */
export function project(
  columns: Columns,
  datasetFields: readonly DatasetField[],
  request: Pick<QueryRequest, 'fields' | 'excludeFields'>,
): readonly ProjectedColumn[] {
  let cachedProjections = projectionsByColumns.get(columns);
  if (cachedProjections?.datasetFields !== datasetFields) {
    cachedProjections = { datasetFields, projections: new LruCache(maxCachedProjections) };
    projectionsByColumns.set(columns, cachedProjections);
  }
  const { fields, excludeFields } = request;
  const key = fields === null && excludeFields.length === 0 ? '' : JSON.stringify([fields, excludeFields]); // prettier-ignore
  const projection =
    cachedProjections.projections.get(key) ?? newProjection(columns, datasetFields, request);
  cachedProjections.projections.set(key, projection);
  return projection;
}

/** Maximum number of projections that are cached per list of columns. */
const maxCachedProjections = 16;

/**
 * The projections of recent requests, by the columns of a snapshot: requests repeat them, and the memory executor sends the same projection
 * to its threads only once.
 */
const projectionsByColumns = new WeakMap<
  Columns,
  {
    readonly datasetFields: readonly DatasetField[];
    readonly projections: LruCache<string, readonly ProjectedColumn[]>;
  }
>();

function newProjection(
  columns: Columns,
  datasetFields: readonly DatasetField[],
  request: Pick<QueryRequest, 'fields' | 'excludeFields'>,
): readonly ProjectedColumn[] {
  const available = [
    ...reservedColumns,
    ...sortByFieldOrdering(
      storedAndDeclaredColumns(columns, datasetFields, request),
      datasetFields,
      [],
    ),
  ];
  const wantedColumns = request.fields ? pickPaths(available, request.fields) : available;
  const storedNames = new Set([...reservedColumns, ...columns].map((column) => column.name));
  return omitPaths(wantedColumns, request.excludeFields).map((column) => ({
    column,
    isStored: storedNames.has(column.name),
  }));
}

/**
 * Returns the stored columns, then the declared top-level fields without a stored column. A dotted name without data is probably a member
 * of an object, which records without a value lack, so its field is left out unless the request has `fields`, from which the caller
 * then picks.
 */
function storedAndDeclaredColumns(
  columns: Columns,
  datasetFields: readonly DatasetField[],
  { fields }: Pick<QueryRequest, 'fields'>,
): Columns {
  const names = new Set([...reservedColumns, ...columns].map((column) => column.name));
  const fieldsWithoutColumn = datasetFields.filter(
    ({ path, name }) =>
      path.length === 1 && !names.has(name) && (fields !== null || !name.includes('.')),
  );
  return [
    ...columns,
    ...fieldsWithoutColumn.map((row): Column => ({
      name: row.name,
      physical: row.name,
      type: row.dataType === 'auto' || row.dataType === 'object' ? 'string' : row.dataType,
      isList: row.isList === true,
    })),
  ];
}

function sortByFieldOrdering(
  columns: Columns,
  datasetFields: readonly DatasetField[],
  above: readonly string[],
): Columns {
  const orderingByName = new Map<string, number>();
  for (const row of datasetFields) {
    if (row.ordering === null || row.path.length !== above.length + 1) continue;
    if (above.every((name, index) => row.path[index] === name))
      orderingByName.set(row.path.at(-1)!, row.ordering);
  }
  const rank = (column: Column): number => orderingByName.get(column.name) ?? Infinity;
  const sortedColumns = columns.map((column) =>
    column.children
      ? {
          ...column,
          children: sortByFieldOrdering(column.children, datasetFields, [...above, column.name]),
        }
      : column,
  );
  if (orderingByName.size === 0) return sortedColumns;
  // Infinity - Infinity is NaN, so ranks are compared rather than subtracted; the sort is stable.
  return sortedColumns.sort((a, b) => (rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0));
}

type FieldPaths = readonly (readonly string[])[];

function pickPaths(columns: Columns, paths: FieldPaths): Columns {
  const names = [...new Set(paths.map((path) => path[0]!))];
  return names.flatMap((name) => {
    const column = columns.find((candidate) => candidate.name === name);
    if (!column) return [];
    const pathsInside = paths.filter((path) => path[0] === name).map((path) => path.slice(1));
    if (!column.children || pathsInside.some((path) => path.length === 0)) return [column];
    return [{ ...column, children: pickPaths(column.children, pathsInside) }];
  });
}

function omitPaths(columns: Columns, paths: FieldPaths): Columns {
  if (paths.length === 0) return columns;
  return columns.flatMap((column) => {
    const pathsInside = paths
      .filter((path) => path[0] === column.name)
      .map((path) => path.slice(1));
    if (pathsInside.length === 0) return [column];
    if (pathsInside.some((path) => path.length === 0)) return [];
    const children = omitPaths(column.children ?? [], pathsInside);
    return children.length === 0 ? [] : [{ ...column, children }];
  });
}
