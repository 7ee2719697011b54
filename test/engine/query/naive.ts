import type { Column, Columns, Value } from '../../../engine/types.js';
import type { TestRow } from './dataset.js';

/*
 * The query language once more, written as plainly as possible: a loop over records. It reads the request itself, not the
 * engine's parsed form, and shares no code with engine/query.
 */

/** A request that the naive evaluator understands: valid, without shorthand. */
export interface NaiveRequest {
  readonly filters: readonly NaiveFilter[];
  readonly ordering: readonly string[];
  readonly limit: number;
  readonly offset: number;
}
export type NaiveFilter =
  | readonly [string, unknown]
  | { readonly and: readonly NaiveFilter[] }
  | { readonly or: readonly NaiveFilter[] }
  | { readonly not: NaiveFilter };

/** A field by its dotted name: where it is, and its type. */
export interface NaiveField {
  readonly name: string;
  readonly path: readonly string[];
  readonly column: Column;
}

/** Every field of a dataset, those inside objects too. */
export function naiveFields(columns: Columns, above: readonly string[] = []): NaiveField[] {
  return columns.flatMap((column) => {
    const path = [...above, column.name];
    return [{ name: path.join('.'), path, column }, ...naiveFields(column.children ?? [], path)];
  });
}

/** The records that match, in order. */
export function naiveQuery(
  rows: readonly TestRow[],
  fields: readonly NaiveField[],
  request: NaiveRequest,
): readonly TestRow[] {
  const byName = new Map(fields.map((field) => [field.name, field]));
  const found = rows.filter((row) =>
    request.filters.every((filter) => matches(row, filter, byName)),
  );
  const keys = request.ordering.map((name) => {
    const descending = name.startsWith('-');
    return { field: byName.get(descending ? name.slice(1) : name)!, descending };
  });
  return found
    .map((row, index) => ({ row, index }))
    .sort((a, b) => {
      for (const { field, descending } of keys) {
        const order = compareKeys(
          keyOf(a.row, field, descending),
          keyOf(b.row, field, descending),
          descending,
        );
        if (order !== 0) return order;
      }
      return a.index - b.index;
    })
    .map(({ row }) => row);
}

/** The terms of a field and how many records have each, most first. */
export function naiveTerms(
  rows: readonly TestRow[],
  field: NaiveField,
): (readonly [Value, number])[] {
  const counts = new Map<unknown, { value: Value; count: number }>();
  for (const row of rows) {
    const seen = new Set<unknown>();
    for (const value of valuesOf(row, field.path)) {
      const key = comparable(field.column, value);
      if (seen.has(key)) continue;
      seen.add(key);
      const known = counts.get(key);
      if (known) known.count += 1;
      else counts.set(key, { value, count: 1 });
    }
  }
  return [...counts]
    .sort(([a, x], [b, y]) => y.count - x.count || compare(a, b))
    .map(([, { value, count }]) => [value, count] as const);
}

/** Every value of a field in a record: through lists and lists of objects, nulls left out. */
export function valuesOf(row: unknown, path: readonly string[]): Value[] {
  let reached: unknown[] = [row];
  for (const name of path) {
    reached = reached
      .map((object) =>
        Object.hasOwn(object as object, name) ? (object as Record<string, unknown>)[name] : null,
      )
      .flat()
      .filter((value) => value !== null && value !== undefined);
  }
  return reached as Value[];
}

type Fields = ReadonlyMap<string, NaiveField>;

function matches(row: TestRow, filter: NaiveFilter, fields: Fields): boolean {
  if (isPair(filter)) return condition(row, filter[0], filter[1], fields);
  if ('and' in filter) return filter.and.every((item) => matches(row, item, fields));
  if ('or' in filter) return filter.or.some((item) => matches(row, item, fields));
  return !matches(row, filter.not, fields);
}

function isPair(filter: NaiveFilter): filter is readonly [string, unknown] {
  return Array.isArray(filter);
}

function condition(row: TestRow, key: string, wanted: unknown, fields: Fields): boolean {
  const cut = fields.has(key) ? key.length : key.lastIndexOf('__');
  const { path, column } = fields.get(key.slice(0, cut))!;
  const action = key.slice(cut + 2);
  const values = valuesOf(row, path);
  if (wanted === null) return values.length === 0;
  return values.some((value) => holds(column, value, action, wanted));
}

function holds(column: Column, value: Value, action: string, wanted: unknown): boolean {
  const isText = column.type === 'string' || column.type === 'text';
  const stored = comparable(column, value);
  const equals = (each: unknown, fold: boolean): boolean => {
    if (column.type === 'date') {
      const [start, end] = moment(each as string);
      return (stored as bigint) >= start && (stored as bigint) < end;
    }
    const other = comparable(column, each as Value);
    return fold && isText ? lower(String(stored)) === lower(String(other)) : stored === other;
  };
  switch (action) {
    case '':
      if (column.type === 'text') return hasWords(String(value), String(wanted));
      return equals(wanted, true);
    case 'iexact':
      return equals(wanted, true);
    case 'exact':
      return equals(wanted, false);
    case 'in':
      return (wanted as readonly unknown[]).some((each) => equals(each, true));
    case 'contains':
      if (column.type === 'text') return hasWords(String(value), String(wanted));
      return String(value).includes(String(wanted));
    case 'prefix':
      return String(value).startsWith(String(wanted));
    case 'range': {
      const [low, high] = wanted as readonly [unknown, unknown];
      return atLeast(column, stored, low) && !above(column, stored, high);
    }
    case 'between': {
      const [low, high] = wanted as readonly [unknown, unknown];
      return above(column, stored, low) && !atLeast(column, stored, high);
    }
    case 'gt':
      return above(column, stored, wanted);
    case 'gte':
      return atLeast(column, stored, wanted);
    case 'lt':
      return !atLeast(column, stored, wanted);
    case 'lte':
      return !above(column, stored, wanted);
    default:
      throw new Error(`no action ${action}`);
  }
}

function above(column: Column, stored: unknown, wanted: unknown): boolean {
  if (column.type === 'date') return (stored as bigint) >= moment(wanted as string)[1];
  return compare(stored, bound(column, wanted)) > 0;
}

function atLeast(column: Column, stored: unknown, wanted: unknown): boolean {
  if (column.type === 'date') return (stored as bigint) >= moment(wanted as string)[0];
  return compare(stored, bound(column, wanted)) >= 0;
}

/** JavaScript compares bigints with numbers exactly, so bounds of whole-number fields stay as they are. */
function bound(column: Column, wanted: unknown): unknown {
  return column.type === 'float' || column.type === 'double'
    ? comparable(column, wanted as Value)
    : wanted;
}

/** A value such that equal values are identical and the others compare in their order. */
function comparable(column: Column, value: Value): unknown {
  switch (column.type) {
    case 'integer':
    case 'long':
      return Number.isInteger(value) || typeof value === 'bigint' ? BigInt(value as bigint) : value;
    case 'double':
      return Number(value) + 0 === 0 ? 0 : Number(value);
    case 'float':
      return Math.fround(Number(value)) === 0 ? 0 : Math.fround(Number(value));
    case 'date':
      return moment(value as string)[0];
    default:
      return value;
  }
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === 'string' && typeof b === 'string')
    return Buffer.compare(Buffer.from(a), Buffer.from(b));
  const [x, y] = [a as number, b as number];
  return x < y ? -1 : x > y ? 1 : 0;
}

function keyOf(row: TestRow, field: NaiveField, descending: boolean): unknown {
  const values = valuesOf(row, field.path).map((value) => comparable(field.column, value));
  const best = values.sort(compare);
  return best.length === 0 ? undefined : best.at(descending ? -1 : 0);
}

function compareKeys(a: unknown, b: unknown, descending: boolean): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? 1 : -1;
  return descending ? compare(b, a) : compare(a, b);
}

/** Microseconds: the instant, or the whole day of a date without a time. */
function moment(text: string): readonly [bigint, bigint] {
  const start = BigInt(Date.parse(text.length === 10 ? text : `${text}Z`)) * 1000n;
  return [start, start + (text.length === 10 ? 86_400_000_000n : 1n)];
}

function lower(text: string): string {
  return Array.from(text, (char) => char.toLowerCase()).join('');
}

function hasWords(text: string, wanted: string): boolean {
  const split = (each: string): string[] =>
    lower(each)
      .split(/[^\p{L}\p{M}\p{N}_]+/u)
      .filter((word) => word !== '');
  const words = split(wanted);
  const present = new Set(split(text));
  return words.length > 0 && words.every((word) => present.has(word));
}
