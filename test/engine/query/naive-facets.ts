import type { Columns, StoredType } from '../../../engine/types.js';
import type { TestRow } from './dataset.js';
import { fieldNamed, isNumeric, valuesOf, type NaiveField } from './naive-fields.js';
import { dateShown, shown } from './naive-record.js';
import { comparable, compare, Refused, type Comparable } from './naive-values.js';

type Options = Readonly<Record<string, unknown>>;

/** A number that may be off by a rounding: sums in another order. */
export class About {
  constructor(
    readonly value: number,
    readonly scale: number,
  ) {}
}

/** The answers of facets of one level over these records (query language 3). */
export function facetsOf(
  input: unknown,
  columns: Columns,
): (rows: readonly TestRow[]) => Record<string, unknown> {
  const entries: (readonly [string, unknown])[] =
    typeof input === 'string' ? [[input, {}]] : Array.isArray(input) ? input.map((name) => [name as string, {}]) : Object.entries(input as object); // prettier-ignore
  const answers = entries.map(([name, options]) => {
    const field = fieldNamed(columns, name);
    if (!field) throw new Refused('no such field');
    return [name, answerOf(field, (options ?? {}) as Options)] as const;
  });
  return (rows) => Object.fromEntries(answers.map(([name, answer]) => [name, answer(rows)]));
}

function answerOf(field: NaiveField, options: Options): (rows: readonly TestRow[]) => unknown {
  const { type } = field.column;
  if (['text', 'blob', 'object', 'json'].includes(type)) throw new Refused('no facets');
  const kind = options['facet_type'] ?? (isNumeric(type) ? 'stats' : 'terms');
  const item = { ...field.column, isList: false };
  const every = (rows: readonly TestRow[]): Comparable[] =>
    rows.flatMap((row) => valuesOf(row, field.path).map((value) => comparable(item, value)));
  switch (kind) {
    case 'terms': {
      const limit = (options['limit'] ?? 10) as number;
      return (rows) => terms(rows, field).slice(0, limit === 0 ? undefined : limit);
    }
    case 'count':
      return (rows) => terms(rows, field).length;
    case 'stats':
      return (rows) => stats(type, every(rows));
    case 'histogram':
      return (rows) => histogram(type, every(rows), options['interval']);
    case 'percentiles':
      return (rows) => percentiles(every(rows), options['percents'] as readonly number[]);
    default:
      throw new Refused('no such facet');
  }
}

/** Each distinct value of a record counts once; by count, then by value. */
function terms(rows: readonly TestRow[], { path, column }: NaiveField): [unknown, number][] {
  const counts = new Map<Comparable, [unknown, number]>();
  for (const row of rows) {
    const own = new Map(valuesOf(row, path).map((value) => [comparable(column, value), value]));
    for (const [key, value] of own) {
      const known = counts.get(key);
      if (known) known[1] += 1;
      else counts.set(key, [shown({ ...column, isList: false }, value), 1]);
    }
  }
  return [...counts]
    .sort(([a, x], [b, y]) => y[1] - x[1] || compare(a, b))
    .map(([, entry]) => entry);
}

function stats(type: StoredType, values: readonly Comparable[]): unknown {
  if (values.length === 0) return { count: 0, min: null, max: null, avg: null, sum: null };
  const sorted = [...values].sort(compare);
  const doubles = values.map(Number);
  const scale = doubles.reduce((sum, value) => sum + Math.abs(value), 0);
  const sum = doubles.reduce((all, value) => all + value, 0);
  const isWhole = type === 'integer' || type === 'long';
  return {
    count: values.length,
    min: shownNumber(type, sorted[0]!),
    max: shownNumber(type, sorted.at(-1)!),
    avg: new About(sum / values.length, scale / values.length),
    sum: isWhole ? values.reduce((all, value) => (all as bigint) + (value as bigint), 0n) : new About(sum, scale), // prettier-ignore
  };
}

function shownNumber(type: StoredType, value: Comparable): unknown {
  return shown({ name: '', physical: '', type, isList: false }, value);
}

function histogram(type: StoredType, values: readonly Comparable[], interval: unknown): unknown {
  const edge = (value: Comparable): Comparable => {
    if (type === 'date') return dateEdge(value as bigint, interval as string);
    const width = BigInt((interval as string | undefined) ?? 100);
    // The width is whole, so that the bin of a fraction is that of the whole number below it.
    const whole = BigInt(typeof value === 'number' ? Math.floor(value) : (value as bigint));
    const bin = whole - (((whole % width) + width) % width);
    return typeof value === 'number' ? Number(bin) : bin;
  };
  const bins = new Map<Comparable, number>();
  for (const value of values) bins.set(edge(value), (bins.get(edge(value)) ?? 0) + 1);
  return [...bins]
    .sort(([a], [b]) => compare(a, b))
    .map(([key, count]) => [type === 'date' ? dateShown(key as bigint) : key, count]);
}

const widths: Readonly<Record<string, bigint>> = { second: 1n, minute: 60n, hour: 3_600n, day: 86_400n }; // prettier-ignore

function dateEdge(micros: bigint, unit: string): bigint {
  const whole = (width: bigint, from = 0n): bigint => micros - ((((micros - from) % width) + width) % width); // prettier-ignore
  const width = widths[unit];
  if (width !== undefined) return whole(width * 1_000_000n);
  // 1970-01-05 was a Monday.
  if (unit === 'week') return whole(7n * 86_400_000_000n, 4n * 86_400_000_000n);
  const date = new Date(Number(whole(86_400_000_000n) / 1000n));
  const month = date.getUTCMonth();
  date.setUTCDate(1);
  date.setUTCMonth(unit === 'year' ? 0 : unit === 'quarter' ? month - (month % 3) : month);
  return BigInt(date.getTime()) * 1000n;
}

/** Linear interpolation between the values next to the place. */
function percentiles(
  values: readonly Comparable[],
  percents: readonly number[] = [1, 5, 25, 50, 75, 95, 99],
): unknown {
  const sorted = values.map(Number).sort((a, b) => a - b);
  const at = (percent: number): About | null => {
    if (sorted.length === 0) return null;
    const place = ((sorted.length - 1) * percent) / 100;
    const [low, high] = [sorted[Math.floor(place)]!, sorted[Math.ceil(place)]!];
    const part = place - Math.floor(place);
    return new About(low * (1 - part) + high * part, Math.abs(low) + Math.abs(high));
  };
  return Object.fromEntries(percents.map((percent) => [Number.isInteger(percent) ? `${percent}.0` : String(percent), at(percent)])); // prettier-ignore
}
