import type { Columns, Value } from '../../../engine/core/types.js';
import { recordId, type TestRow } from './dataset.js';
import { entitiesPredicate } from './naive-entities.js';
import { naiveFacets } from './naive-facets.js';
import { resolveField, valuesOf, type GeneratedDataset, type NaiveField } from './naive-fields.js';
import { filterPredicate, type NaiveFilter, type RowPredicate } from './naive-filter.js';
import { matchesQueryTree } from './naive-query-string.js';
import { nameListOf, naiveProjection } from './naive-record.js';
import {
  comparableValue,
  compareComparables,
  lowerCase,
  RefusedRequest,
  type Comparable,
} from './naive-values.js';
import type { RandomRequest } from './random-request.js';

export { naiveFields, type NaiveField } from './naive-fields.js';

/** The part of a request that selects and sorts records. */
export interface NaiveRequest {
  readonly filters: readonly NaiveFilter[];
  readonly ordering: readonly string[];
  readonly limit: number;
  readonly offset: number;
}

/** Returns the records that match, in order; `fields` are all fields of the dataset. */
export function naiveQuery(
  rows: readonly TestRow[],
  fields: readonly NaiveField[],
  { filters, ordering }: NaiveRequest,
): readonly TestRow[] {
  const columns = fields.filter(({ path }) => path.length === 1).map(({ column }) => column);
  return sortRows(rows.filter(filterPredicate(filters, columns)), sortKeysOf(ordering, columns));
}

/** Returns the terms of a field and the number of records with each, the most frequent first. */
export function naiveTerms(
  rows: readonly TestRow[],
  { path, column }: NaiveField,
): (readonly [Value, number])[] {
  const counts = new Map<Comparable, { readonly value: Value; count: number }>();
  for (const row of rows) {
    const ownValues = new Map(
      valuesOf(row, path).map((value) => [comparableValue(column, value), value]),
    );
    for (const [key, value] of ownValues) {
      const knownTerm = counts.get(key);
      if (knownTerm) knownTerm.count += 1;
      else counts.set(key, { value, count: 1 });
    }
  }
  return [...counts]
    .sort(([a, x], [b, y]) => y.count - x.count || compareComparables(a, b))
    .map(([, { value, count }]) => [value, count] as const);
}

/** The expected answer to a query. */
export interface NaiveAnswer {
  readonly total: number;
  readonly offset: number | null;
  /** The records of the page; all matching records if they are ordered by relevance, for which the specification has no rule. */
  readonly records: readonly Record<string, unknown>[];
  readonly count: number;
  readonly isRanked: boolean;
  readonly facets: Record<string, unknown> | undefined;
  /** The ids of all matching records, in order. */
  readonly ids: readonly string[];
}

/** Returns the records of a dataset in insertion order, with their reserved fields. */
export function recordsInOrder({ segments }: GeneratedDataset): TestRow[] {
  return segments.flatMap(({ rows }, chunk) =>
    rows.map((row, index): TestRow => ({ _id: recordId(chunk, index), _commit: '4812', ...row })),
  );
}

/** Returns the answer to a request, computed by a loop over the records; `refused` if the request must be answered with a 400. */
export function naiveAnswer(
  dataset: GeneratedDataset,
  request: RandomRequest,
): NaiveAnswer | 'refused' {
  try {
    return naiveAnswerOrThrow(dataset, request);
  } catch (error) {
    if (error instanceof RefusedRequest) return 'refused';
    throw error;
  }
}

function naiveAnswerOrThrow(
  dataset: GeneratedDataset,
  { body, queryTree }: RandomRequest,
): NaiveAnswer {
  const { columns } = dataset;
  const tests: RowPredicate[] = [
    filterPredicate(body['filters'], columns),
    entitiesPredicate(body['entities'], dataset),
    genomeBuildPredicate(body['genome_build'], columns),
  ];
  if (queryTree !== null) tests.push((row) => matchesQueryTree(queryTree, row, columns));
  const showRecord = naiveProjection(body, columns);
  const keys = sortKeysOf(body['ordering'], columns);
  const facets = isNonEmpty(body['facets']) ? naiveFacets(body['facets'], columns) : undefined;
  const limit = Number(body['limit'] ?? 100);
  const offset = Number(body['offset'] ?? 0);
  if (limit < 0 || limit > 10_000 || offset < 0) throw new RefusedRequest('no such page');
  const matchingRows = sortRows(recordsInOrder(dataset).filter((row) => tests.every((test) => test(row))), keys); // prettier-ignore
  const page = matchingRows.slice(offset, offset + limit);
  const nextOffset = offset + page.length;
  const isRanked =
    keys.length === 0 && (queryTree !== null || ranksByRelevance(body['filters'], columns));
  return {
    total: matchingRows.length,
    offset: page.length > 0 && nextOffset < matchingRows.length ? nextOffset : null,
    records: (isRanked ? matchingRows : page).map(showRecord),
    count: page.length,
    isRanked,
    facets: facets?.(matchingRows),
    ids: matchingRows.map((row) => row['_id'] as string),
  };
}

function isNonEmpty(value: unknown): boolean {
  return value !== undefined && value !== null && Object.keys(value).length > 0;
}

/**
 * Returns the predicate of the key `genome_build` of a request. It restricts neither records without a build nor datasets without
 * builds.
 */
function genomeBuildPredicate(build: unknown, columns: Columns): RowPredicate {
  if (build === undefined || build === null || build === '') return () => true;
  const wantedBuild = lowerCase(build as string);
  if (!['grch37', 'grch38', 't2t-chm13'].includes(wantedBuild))
    throw new RefusedRequest('no such build');
  const field = resolveField(columns, 'genomic_coordinates.build');
  if (!field) return () => true;
  return (row) => {
    const ownValues = valuesOf(row, field.path) as readonly string[];
    return ownValues.length === 0 || ownValues.some((value) => lowerCase(value) === wantedBuild);
  };
}

interface SortKey {
  readonly field: NaiveField;
  readonly isDescending: boolean;
}

function sortKeysOf(ordering: unknown, columns: Columns): readonly SortKey[] {
  return nameListOf(ordering).map((name) => {
    const isDescending = !resolveField(columns, name) && name.startsWith('-');
    const field = resolveField(columns, isDescending ? name.slice(1) : name);
    if (!field || ['text', 'blob', 'object', 'json'].includes(field.column.type))
      throw new RefusedRequest('cannot be sorted by');
    return { field, isDescending };
  });
}

/** Sorts records: those without a value come last, ties are in insertion order (query language 1.4). */
function sortRows(rows: readonly TestRow[], keys: readonly SortKey[]): TestRow[] {
  const rowsWithKeys = rows.map((row) => ({
    row,
    values: keys.map((key) => sortKeyOfRow(row, key)),
  }));
  // JavaScript's sort is stable, so ties keep the insertion order.
  rowsWithKeys.sort((a, b) => {
    for (const [i, { isDescending }] of keys.entries()) {
      const [x, y] = [a.values[i], b.values[i]];
      if (x === undefined || y === undefined) {
        if (x !== y) return x === undefined ? 1 : -1;
        continue;
      }
      const order = isDescending ? compareComparables(y, x) : compareComparables(x, y);
      if (order !== 0) return order;
    }
    return 0;
  });
  return rowsWithKeys.map(({ row }) => row);
}

/**
 * Returns the value by which a record is sorted: for a list, the smallest element in ascending order and the largest in descending order.
 */
function sortKeyOfRow(row: TestRow, { field, isDescending }: SortKey): Comparable | undefined {
  const values = valuesOf(row, field.path).map((value) => comparableValue(field.column, value));
  return values.sort(compareComparables).at(isDescending ? -1 : 0);
}

/** Returns whether filters ask for an order by relevance, which applies if the request has no ordering: a filter on a `text` does. */
function ranksByRelevance(filters: unknown, columns: Columns): boolean {
  if (!Array.isArray(filters)) return filters !== null && typeof filters === 'object' && Object.values(filters).some((inside) => ranksByRelevance(inside, columns)); // prettier-ignore
  if (typeof filters[0] !== 'string')
    return filters.some((item) => ranksByRelevance(item, columns));
  const key = filters[0];
  const field = resolveField(columns, key) ?? resolveField(columns, key.slice(0, key.lastIndexOf('__'))); // prettier-ignore
  return field?.column.type === 'text';
}
