import type { Columns, Value } from '../../../engine/core/types.js';
import { recordId, type TestRow } from './dataset.js';
import { entitiesTest } from './naive-entities.js';
import { facetsOf } from './naive-facets.js';
import { fieldNamed, valuesOf, type MadeDataset, type NaiveField } from './naive-fields.js';
import { filterTest, type Test } from './naive-filter.js';
import { evaluate } from './naive-query-string.js';
import { names, shape } from './naive-record.js';
import { comparableValue, compare, lowerCase, Refused, type Comparable } from './naive-values.js';
import type { RandomRequest } from './random-request.js';

export { naiveFields, type NaiveField } from './naive-fields.js';

/** A filter without shorthand. */
export type NaiveFilter =
  | readonly [string, unknown]
  | { readonly and: readonly NaiveFilter[] }
  | { readonly or: readonly NaiveFilter[] }
  | { readonly not: NaiveFilter };

/** The part of a request that chooses and sorts records. */
export interface NaiveRequest {
  readonly filters: readonly NaiveFilter[];
  readonly ordering: readonly string[];
  readonly limit: number;
  readonly offset: number;
}

/** The records that match, in order; `fields` are all fields of the dataset. */
export function naiveQuery(
  rows: readonly TestRow[],
  fields: readonly NaiveField[],
  { filters, ordering }: NaiveRequest,
): readonly TestRow[] {
  const columns = fields.filter(({ path }) => path.length === 1).map(({ column }) => column);
  return sortRows(rows.filter(filterTest(filters, columns)), orderKeys(ordering, columns));
}

/** The terms of a field and how many records have each, most first. */
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
    .sort(([a, x], [b, y]) => y.count - x.count || compare(a, b))
    .map(([, { value, count }]) => [value, count] as const);
}

/** The expected answer to a query. */
export interface NaiveAnswer {
  readonly total: number;
  readonly offset: number | null;
  /** The records of the page; all that match where their order is by relevance, which no rule tells. */
  readonly records: readonly Record<string, unknown>[];
  readonly count: number;
  readonly isRanked: boolean;
  readonly facets: Record<string, unknown> | undefined;
  /** The ids of all that match, in order. */
  readonly ids: readonly string[];
}

/** The records of a dataset in insertion order, with their reserved fields. */
export function recordsOf({ segments }: MadeDataset): TestRow[] {
  return segments.flatMap(({ rows }, chunk) =>
    rows.map((row, index): TestRow => ({ _id: recordId(chunk, index), _commit: '4812', ...row })),
  );
}

/** The answer by a loop over the records; `refused` where the request must be a 400. */
export function naiveAnswer(made: MadeDataset, request: RandomRequest): NaiveAnswer | 'refused' {
  try {
    return answer(made, request);
  } catch (error) {
    if (error instanceof Refused) return 'refused';
    throw error;
  }
}

function answer(made: MadeDataset, { body, asked }: RandomRequest): NaiveAnswer {
  const { columns } = made;
  const tests: Test[] = [
    filterTest(body['filters'], columns),
    entitiesTest(body['entities'], made),
    buildTest(body['genome_build'], columns),
  ];
  if (asked !== null) tests.push((row) => evaluate(asked, row, columns));
  const showRecord = shape(body, columns);
  const keys = orderKeys(body['ordering'], columns);
  const facets = isGiven(body['facets']) ? facetsOf(body['facets'], columns) : undefined;
  const limit = Number(body['limit'] ?? 100);
  const offset = Number(body['offset'] ?? 0);
  if (limit < 0 || limit > 10_000 || offset < 0) throw new Refused('no such page');
  const found = sortRows(recordsOf(made).filter((row) => tests.every((test) => test(row))), keys); // prettier-ignore
  const page = found.slice(offset, offset + limit);
  const next = offset + page.length;
  const isRanked = keys.length === 0 && (asked !== null || ranks(body['filters'], columns));
  return {
    total: found.length,
    offset: page.length > 0 && next < found.length ? next : null,
    records: (isRanked ? found : page).map(showRecord),
    count: page.length,
    isRanked,
    facets: facets?.(found),
    ids: found.map((row) => row['_id'] as string),
  };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && Object.keys(value).length > 0;
}

/** Records without a build are not restricted, nor are datasets. */
function buildTest(build: unknown, columns: Columns): Test {
  if (build === undefined || build === null || build === '') return () => true;
  const wantedBuild = lowerCase(build as string);
  if (!['grch37', 'grch38', 't2t-chm13'].includes(wantedBuild)) throw new Refused('no such build');
  const field = fieldNamed(columns, 'genomic_coordinates.build');
  if (!field) return () => true;
  return (row) => {
    const ownValues = valuesOf(row, field.path) as readonly string[];
    return ownValues.length === 0 || ownValues.some((value) => lowerCase(value) === wantedBuild);
  };
}

interface Key {
  readonly field: NaiveField;
  readonly descending: boolean;
}

function orderKeys(ordering: unknown, columns: Columns): readonly Key[] {
  return names(ordering).map((name) => {
    const descending = !fieldNamed(columns, name) && name.startsWith('-');
    const field = fieldNamed(columns, descending ? name.slice(1) : name);
    if (!field || ['text', 'blob', 'object', 'json'].includes(field.column.type))
      throw new Refused('cannot be sorted by');
    return { field, descending };
  });
}

/** Records without a value last, ties by insertion order (query language 1.4). */
function sortRows(rows: readonly TestRow[], keys: readonly Key[]): TestRow[] {
  const ranked = rows.map((row) => ({ row, values: keys.map((key) => keyOf(row, key)) }));
  // The sort is stable.
  ranked.sort((a, b) => {
    for (const [i, { descending }] of keys.entries()) {
      const [x, y] = [a.values[i], b.values[i]];
      if (x === undefined || y === undefined) {
        if (x !== y) return x === undefined ? 1 : -1;
        continue;
      }
      const order = descending ? compare(y, x) : compare(x, y);
      if (order !== 0) return order;
    }
    return 0;
  });
  return ranked.map(({ row }) => row);
}

/** For a list, the smallest element in ascending and the largest in descending order. */
function keyOf(row: TestRow, { field, descending }: Key): Comparable | undefined {
  const values = valuesOf(row, field.path).map((value) => comparableValue(field.column, value));
  return values.sort(compare).at(descending ? -1 : 0);
}

/** A text filter without an ordering asks for an order by relevance. */
function ranks(filters: unknown, columns: Columns): boolean {
  if (!Array.isArray(filters)) return filters !== null && typeof filters === 'object' && Object.values(filters).some((inside) => ranks(inside, columns)); // prettier-ignore
  if (typeof filters[0] !== 'string') return filters.some((item) => ranks(item, columns));
  const key = filters[0];
  const field = fieldNamed(columns, key) ?? fieldNamed(columns, key.slice(0, key.lastIndexOf('__'))); // prettier-ignore
  return field?.column.type === 'text';
}
