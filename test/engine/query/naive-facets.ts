import type { Columns, StoredType } from '../../../engine/core/types.js';
import type { TestRow } from './dataset.js';
import { resolveField, isNumeric, valuesOf, type NaiveField } from './naive-fields.js';
import { naiveBinOf, type NaiveBin } from './naive-bins.js';
import { valueAsAnswered } from './naive-record.js';
import {
  comparableValue,
  compareComparables,
  RefusedRequest,
  type Comparable,
} from './naive-values.js';

type FacetOptions = Readonly<Record<string, unknown>>;

/** An expected number that the answer may miss by rounding errors: by at most 1e-9 of `scale`. */
export class ApproximateNumber {
  constructor(
    readonly value: number,
    readonly scale: number,
  ) {}
}

/**
 * Returns a function that answers facets over given records (query language 3, and the extensions of issue 4: facets under any bucket,
 * and all kinds of bins).
 */
export function naiveFacets(
  input: unknown,
  columns: Columns,
): (rows: readonly TestRow[]) => Record<string, unknown> {
  const entries: (readonly [string, unknown])[] =
    typeof input === 'string' ? [[input, {}]] : Array.isArray(input) ? input.map((name) => [name as string, {}]) : Object.entries(input as object); // prettier-ignore
  const answers = entries.map(([name, options]) => {
    const field = resolveField(columns, name);
    if (!field) throw new RefusedRequest('no such field');
    return [name, facetAnswerOf(field, (options ?? {}) as FacetOptions, columns)] as const;
  });
  return (rows) => Object.fromEntries(answers.map(([name, answer]) => [name, answer(rows)]));
}

function facetAnswerOf(
  field: NaiveField,
  options: FacetOptions,
  columns: Columns,
): (rows: readonly TestRow[]) => unknown {
  const { type } = field.column;
  if (['text', 'blob', 'object', 'json'].includes(type)) throw new RefusedRequest('no facets');
  const kind = options['facet_type'] ?? (isNumeric(type) ? 'stats' : 'terms');
  const item = { ...field.column, isList: false };
  const nestedFacetsOf =
    options['facets'] === undefined ? undefined : naiveFacets(options['facets'], columns);
  const shownBucket = ({ shown: key, count, rows }: NaiveBucket): unknown =>
    nestedFacetsOf ? [key, count, nestedFacetsOf(rows)] : [key, count];
  const valuesInRows = (rows: readonly TestRow[]): Comparable[] =>
    rows.flatMap((row) => valuesOf(row, field.path).map((value) => comparableValue(item, value)));
  switch (kind) {
    case 'terms': {
      const limit = Number(options['limit'] ?? 10);
      return (rows) =>
        termsBuckets(rows, field)
          .slice(0, limit === 0 ? undefined : limit)
          .map(shownBucket);
    }
    case 'count':
      return (rows) => termsBuckets(rows, field).length;
    case 'stats':
      return (rows) => naiveStats(type, valuesInRows(rows), options['extended'] === true);
    case 'histogram':
      return (rows) => histogramBuckets(rows, field, options).map(shownBucket);
    case 'percentiles':
      return (rows) => naivePercentiles(valuesInRows(rows), percentsOf(options['percents']));
    default:
      throw new RefusedRequest('no such facet');
  }
}

/** A term or bin: `count` is the number of its records for a term, and of its values for a bin; `rows` are its records. */
interface NaiveBucket {
  readonly shown: unknown;
  readonly count: number;
  readonly rows: readonly TestRow[];
}

/** Returns the terms of a field: each distinct value of a record counts once; ordered by count, then by value. */
function termsBuckets(rows: readonly TestRow[], { path, column }: NaiveField): NaiveBucket[] {
  const buckets = new Map<Comparable, { shown: unknown; rows: TestRow[] }>();
  for (const row of rows) {
    const ownValues = new Map(
      valuesOf(row, path).map((value) => [comparableValue(column, value), value]),
    );
    for (const [key, value] of ownValues) {
      const knownBucket = buckets.get(key);
      if (knownBucket) knownBucket.rows.push(row);
      else
        buckets.set(key, {
          shown: valueAsAnswered({ ...column, isList: false }, value),
          rows: [row],
        });
    }
  }
  return [...buckets]
    .sort(([a, x], [b, y]) => y.rows.length - x.rows.length || compareComparables(a, b))
    .map(([, bucket]) => ({ ...bucket, count: bucket.rows.length }));
}

function naiveStats(type: StoredType, values: readonly Comparable[], isExtended: boolean): unknown {
  if (values.length === 0) {
    const noStats = { count: 0, min: null, max: null, avg: null, sum: null };
    const bounds = { upper: null, lower: null };
    return isExtended ? { ...noStats, sum_of_squares: null, variance: null, std_deviation: null, std_deviation_bounds: bounds } : noStats; // prettier-ignore
  }
  const sorted = [...values].sort(compareComparables);
  const isWhole = type === 'integer' || type === 'long';
  // Values are represented exactly, as multiples of 2^-1074, which every double is.
  const units = values.map((value) => (isWhole ? (value as bigint) << 1074n : smallestUnitsOf(Number(value)))); // prettier-ignore
  const count = BigInt(values.length);
  const total = units.reduce((all, value) => all + value, 0n);
  const absoluteTotal = units.reduce((all, value) => all + (value < 0n ? -value : value), 0n);
  const scale = quotientTo60Bits(absoluteTotal, 1n, 1074);
  const mean = quotientTo60Bits(total, count, 1074);
  const plainStats = {
    count: values.length,
    min: shownNumberOfType(type, sorted[0]!),
    max: shownNumberOfType(type, sorted.at(-1)!),
    avg: approximateNumber(mean, quotientTo60Bits(absoluteTotal, count, 1074)),
    sum: isWhole ? values.reduce((all, value) => (all as bigint) + (value as bigint), 0n) : approximateNumber(quotientTo60Bits(total, 1n, 1074), scale), // prettier-ignore
  };
  if (!isExtended) return plainStats;
  const squares = units.reduce((all, value) => all + value * value, 0n);
  const variance = quotientTo60Bits(count * squares - total * total, count * count, 2148);
  const deviation = Math.sqrt(variance);
  const boundsScale = Math.abs(mean) + 2 * deviation;
  return {
    ...plainStats,
    sum_of_squares: approximateNumber(quotientTo60Bits(squares, 1n, 2148)),
    variance: approximateNumber(variance),
    std_deviation: approximateNumber(deviation),
    std_deviation_bounds: {
      upper: approximateNumber(mean + 2 * deviation, boundsScale),
      lower: approximateNumber(mean - 2 * deviation, boundsScale),
    },
  };
}

/**
 * Returns a number that is compared with a tolerance of 1e-12 of `scale`; null if it exceeds the range of doubles. Below 1e-290, doubles
 * are too imprecise for squares.
 */
function approximateNumber(value: number, scale = Math.abs(value)): unknown {
  return Number.isFinite(value)
    ? new ApproximateNumber(value, Math.max(scale, 1e-290) * 1e-3)
    : null;
}

function smallestUnitsOf(value: number): bigint {
  const bytes = new DataView(new ArrayBuffer(8));
  bytes.setFloat64(0, value);
  const [exponent, fraction] = [bytes.getUint16(0) >> 4 & 0x7ff, bytes.getBigUint64(0) & 0xfffffffffffffn]; // prettier-ignore
  const size = exponent === 0 ? fraction : (fraction + 2n ** 52n) * 2n ** BigInt(exponent - 1);
  return value < 0 ? -size : size;
}

/** Returns `a / (b * 2^power)`, cut off after the first 60 bits and rounded to a double. */
function quotientTo60Bits(a: bigint, b: bigint, power: number): number {
  const size = a < 0n ? -a : a;
  const shift = BigInt(Math.max(0, b.toString(2).length + 60 - size.toString(2).length));
  const wholeQuotient = (size << shift) / b;
  const bitsCut = Math.max(0, wholeQuotient.toString(2).length - 60);
  const exponent = bitsCut - Number(shift) - power;
  const halfExponent = Math.trunc(exponent / 2);
  const quotient =
    Number(wholeQuotient >> BigInt(bitsCut)) * 2 ** halfExponent * 2 ** (exponent - halfExponent);
  return a < 0n ? -quotient : quotient;
}

function shownNumberOfType(type: StoredType, value: Comparable): unknown {
  return valueAsAnswered({ name: '', physical: '', type, isList: false }, value);
}

/** Returns the bins of a histogram: `count` counts every element of a list, and `rows` has each record once. */
function histogramBuckets(
  rows: readonly TestRow[],
  { path, column }: NaiveField,
  options: FacetOptions,
): NaiveBucket[] {
  const binOf = naiveBinOf(column.type, options['interval'], options['scale']);
  const bins = new Map<Comparable, { bin: NaiveBin; count: number; rows: Set<TestRow> }>();
  for (const row of rows) {
    for (const value of valuesOf(row, path)) {
      const bin = binOf(comparableValue({ ...column, isList: false }, value));
      const knownBin = bins.get(bin.order) ?? { bin, count: 0, rows: new Set() };
      knownBin.count += 1;
      knownBin.rows.add(row);
      bins.set(bin.order, knownBin);
    }
  }
  return [...bins.values()]
    .sort((a, b) => compareComparables(a.bin.order, b.bin.order))
    .map(({ bin, count, rows: own }) => ({ shown: bin.shown, count, rows: [...own] }));
}

function percentsOf(percentsOption: unknown): readonly number[] {
  if (percentsOption === undefined) return [1, 5, 25, 50, 75, 95, 99];
  return (Array.isArray(percentsOption) ? percentsOption : [percentsOption]).map(Number);
}

/** Interpolates linearly between the two values next to the percentile's position. */
function naivePercentiles(values: readonly Comparable[], percents: readonly number[]): unknown {
  const sorted = values.map(Number).sort((a, b) => a - b);
  const percentileAt = (percent: number): ApproximateNumber | null => {
    if (sorted.length === 0) return null;
    const place = ((sorted.length - 1) * percent) / 100;
    const [low, high] = [sorted[Math.floor(place)]!, sorted[Math.ceil(place)]!];
    const fraction = place - Math.floor(place);
    return new ApproximateNumber(
      low * (1 - fraction) + high * fraction,
      Math.abs(low) + Math.abs(high),
    );
  };
  return Object.fromEntries(
    percents.map((percent) => [
      Number.isInteger(percent) ? `${percent}.0` : String(percent),
      percentileAt(percent),
    ]),
  );
}
