import type { Column, Columns, StoredType, Value } from '../../../engine/types.js';
import { column, listOf, type TestRow } from './dataset.js';
import type { NaiveField, NaiveFilter, NaiveRequest } from './naive.js';
import type { Random } from './random.js';

/** Names that have broken engines: keywords, quotes, our own aliases, virtual columns, prototype keys. */
const names = [
  'gene', 'Sepal.Length', 'a b', 'quo"te', "it's", 'select', 'ünï', 'x;--', '__proto__', 'constructor',
  'file_row_number', 'r', '_e1', 'v', 'n', 'k', 'x0', '$1', 'POS', '名前',
]; // prettier-ignore
const scalarTypes: readonly StoredType[] = [
  'string', 'string', 'long', 'double', 'date', 'boolean', 'integer', 'text', 'float', 'blob',
]; // prettier-ignore

/** Between two and six columns: scalars, lists, objects, lists of objects, irregular JSON. */
export function randomColumns(random: Random, depth = 0): Columns {
  const pool = [...names].sort(() => random.next() - 0.5);
  return pool.slice(0, 2 + random.below(depth === 0 ? 5 : 2)).map((name, index) => {
    const type: StoredType =
      depth < 2 && random.chance(0.25)
        ? 'object'
        : depth === 0 && random.chance(0.08)
          ? 'json'
          : random.pick(scalarTypes);
    const own = column(
      name,
      type,
      type === 'object' ? randomColumns(random, depth + 1) : undefined,
    );
    // Some are stored under another name, as a duplicate but for letter case is.
    const stored = index > 0 && random.chance(0.1) ? { ...own, physical: `${name}~2` } : own;
    return random.chance(0.25) && type !== 'json' ? listOf(stored) : stored;
  });
}

/** Records of these columns with every kind of gap: absent keys, nulls, empty lists, nulls in lists. */
export function randomRows(random: Random, columns: Columns, count: number): TestRow[] {
  return random.list(count, () => object(random, columns) as TestRow);
}

function object(random: Random, columns: Columns): Record<string, Value> {
  const entries = columns.flatMap((each): (readonly [string, Value])[] =>
    random.chance(0.15) ? [] : [[each.name, value(random, each)]],
  );
  // fromEntries defines the keys, so that `__proto__` is one like any other.
  return Object.fromEntries(entries);
}

function value(random: Random, each: Column): Value {
  if (random.chance(0.1)) return null;
  if (each.isList)
    return random.list(random.below(4), () => value(random, { ...each, isList: false }));
  return each.type === 'object' ? object(random, each.children ?? []) : scalar(random, each.type);
}

const letters = ['a', 'A', 'b', 'B', 'É', 'é', 'ß', 'ж', 'Ж', '1', '7', ' ', '_', '%', '"', "'", '\\', '😀', '\n', '\u0001']; // prettier-ignore
const longs = [0n, 1n, -1n, 2n, 3n, 9007199254740993n, 9007199254740992n, 9223372036854775807n, -9223372036854775808n]; // prettier-ignore
const doubles = [0, -0, 1, -1.5, 0.1, 0.3, 2, 1e300, 5e-324, 9007199254740992, 123456.789];
const days = ['2015-01-10', '2016-05-01', '2016-02-29', '1969-12-31', '2038-01-19', '0099-03-04'];
const times = ['', '', 'T12:30:00', 'T00:00:00.000', 'T23:59:59.999', 'T00:00:01'];

function scalar(random: Random, type: StoredType): Value {
  switch (type) {
    case 'boolean':
      return random.chance(0.5);
    case 'integer':
      return random.pick([0, 1, 2, 3, -1, 2147483647, -2147483648]);
    case 'long':
      return random.pick(longs);
    case 'double':
    case 'float':
      return type === 'float'
        ? Math.fround(Math.min(random.pick(doubles), 1e30))
        : random.pick(doubles);
    case 'date':
      return random.pick(days) + random.pick(times);
    case 'json':
      return random.pick(['[[1,2],["a"]]', '{"a":1.50}', '"x"', '[1,"b",{"c":null}]']);
    default:
      return random
        .list(random.below(type === 'text' ? 12 : 3), () => random.pick(letters))
        .join('');
  }
}

/** A valid query: several predicates, an ordering, a page. */
export function randomRequest(random: Random, fields: readonly NaiveField[]): NaiveRequest {
  const sortable = fields.filter(
    ({ column: { type } }) => !['text', 'blob', 'object', 'json'].includes(type),
  );
  const ordering =
    sortable.length === 0
      ? []
      : random.list(
          random.below(3),
          () => `${random.chance(0.5) ? '-' : ''}${random.pick(sortable).name}`,
        );
  return {
    filters: random.list(random.below(3), () => filter(random, fields, 0)),
    ordering,
    limit: random.pick([0, 1, 3, 10, 100]),
    offset: random.chance(0.5) ? 0 : random.below(40),
  };
}

function filter(random: Random, fields: readonly NaiveField[], depth: number): NaiveFilter {
  if (depth < 4 && random.chance(0.45)) {
    const items = (): NaiveFilter[] =>
      random.list(random.below(4), () => filter(random, fields, depth + 1));
    const kind = random.below(3);
    if (kind === 0) return { and: items() };
    return kind === 1 ? { or: items() } : { not: filter(random, fields, depth + 1) };
  }
  return pair(random, random.pick(fields));
}

function pair(random: Random, { name, column: { type } }: NaiveField): NaiveFilter {
  if (type === 'object' || type === 'json' || random.chance(0.1)) return [name, null];
  const wanted = (): Value => scalar(random, type);
  const ranged = ['range', 'between', 'gt', 'gte', 'lt', 'lte'];
  const actions = ['', 'exact', 'in'];
  if (type === 'string') actions.push('iexact', 'contains', 'prefix');
  if (type === 'text') actions.push('iexact', 'contains');
  if (['integer', 'long', 'double', 'float', 'date'].includes(type)) actions.push(...ranged);
  const action = random.pick(actions);
  const key = action === '' ? name : `${name}__${action}`;
  if (action === 'in') return [key, random.list(random.pick([0, 1, 2, 5, 40]), wanted)];
  if (action !== 'range' && action !== 'between') {
    const isWhole = type === 'integer' || type === 'long';
    return [key, isWhole && random.chance(0.2) ? random.pick([0.5, -1.5, 1e30, -1e30]) : wanted()];
  }
  const ends = [wanted(), wanted()].sort((a, b) => (order(type, a) < order(type, b) ? -1 : 1));
  return [key, ends];
}

/** Longs as they are: beyond 2^53 a double would make neighbours equal. */
function order(type: StoredType, end: Value): number | bigint {
  if (type !== 'date') return end as number | bigint;
  const text = end as string;
  return Date.parse(text.length === 10 ? text : `${text}Z`);
}
