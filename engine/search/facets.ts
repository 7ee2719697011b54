import { binKey, type Bins, type DateUnit } from '../query/request/facet-bins.js';
import type { BucketFacet, Facet } from '../query/request/facets.js';
import { BucketCount, bucketLimit, isOrderedByCount } from '../query/results/facet-answer.js';
import { sortableText } from './top-documents.js';
import { documentField, type DocumentField, type SearchDocument } from './document.js';

type SingleValue = string | number;

/** Accumulates one facet over the matching documents (query language 3.2). */
interface FacetCounter {
  add(document: SearchDocument): void;
  /** Returns the answer, and adds its buckets to `count`. */
  answer(count: BucketCount): unknown;
}

/** Creates the counter of a facet. */
export function createFacetCounter(facet: Facet): FacetCounter {
  const field = documentField(facet.field.name);
  switch (facet.kind) {
    case 'terms':
    case 'histogram':
      return new BucketCounter(field, facet);
    case 'count':
      return new DistinctCounter(field);
    case 'stats':
      return new NumberStats(field, facet.extended);
    case 'percentiles':
      return new PercentileCounter(field, facet.percents);
  }
}

/** Returns the distinct values of a field in one document. */
function fieldValues(field: DocumentField, document: SearchDocument): readonly SingleValue[] {
  const value = field.read(document);
  if (value === null) return [];
  return typeof value === 'object' ? [...new Set(value)] : [value];
}

/** Counts documents per term or bin. */
class BucketCounter implements FacetCounter {
  readonly #field: DocumentField;
  readonly #facet: BucketFacet;
  readonly #buckets = new Map<
    SingleValue,
    { count: number; readonly nested: readonly FacetCounter[] }
  >();

  constructor(field: DocumentField, facet: BucketFacet) {
    this.#field = field;
    this.#facet = facet;
  }

  add(document: SearchDocument): void {
    const facet = this.#facet;
    for (const value of fieldValues(this.#field, document)) {
      const key = facet.kind === 'terms' ? value : binStartOf(facet.bins, Number(value));
      let bucket = this.#buckets.get(key);
      if (!bucket) {
        bucket = { count: 0, nested: facet.nested.map(createFacetCounter) };
        this.#buckets.set(key, bucket);
      }
      bucket.count += 1;
      for (const counter of bucket.nested) counter.add(document);
    }
  }

  answer(count: BucketCount): unknown {
    const facet = this.#facet;
    const limit = bucketLimit(facet);
    count.add(facet, Math.min(limit, this.#buckets.size));
    const isByCount = isOrderedByCount(facet);
    return [...this.#buckets]
      .map(([key, bucket]) => ({
        key,
        ...bucket,
        sortKey: typeof key === 'string' ? sortableText(key) : key,
      }))
      .sort((a, b) => (isByCount && b.count - a.count) || (a.sortKey < b.sortKey ? -1 : 1))
      .slice(0, limit)
      .map(({ key, count: documents, nested }) => {
        const shownKey =
          facet.kind === 'terms'
            ? valueInAnswer(this.#field, key)
            : binKeyInAnswer(facet.bins, Number(key));
        return nested.length === 0
          ? [shownKey, documents]
          : [shownKey, documents, facetResults(facet.nested, nested, count)];
      });
  }
}

/** Returns the results of several facets, by field name. Throws `budget` if the whole answer has too many buckets. */
export function facetResults(
  facets: readonly Facet[],
  counters: readonly FacetCounter[],
  count = new BucketCount(),
): object {
  return Object.fromEntries(
    facets.map((facet, i) => [facet.field.name, counters[i]!.answer(count)]),
  );
}

/** Counts the distinct values of a field. */
class DistinctCounter implements FacetCounter {
  readonly #field: DocumentField;
  readonly #seen = new Set<SingleValue>();

  constructor(field: DocumentField) {
    this.#field = field;
  }

  add(document: SearchDocument): void {
    for (const value of fieldValues(this.#field, document)) this.#seen.add(value);
  }

  answer(): number {
    return this.#seen.size;
  }
}

/** Computes statistics of numbers. The sum is a bigint, because a sum of ids exceeds 2^53. */
class NumberStats implements FacetCounter {
  readonly #field: DocumentField;
  readonly #isExtended: boolean;
  readonly #values: number[] = [];

  constructor(field: DocumentField, isExtended: boolean) {
    this.#field = field;
    this.#isExtended = isExtended;
  }

  add(document: SearchDocument): void {
    this.#values.push(...(fieldValues(this.#field, document) as readonly number[]));
  }

  answer(): object {
    const values = this.#values;
    const count = values.length;
    const isEmpty = count === 0;
    const total = values.reduce((sum, value) => sum + BigInt(value), 0n);
    const mean = Number(total) / count;
    const extremeOf = (pick: (a: number, b: number) => number): number | null =>
      isEmpty ? null : values.reduce((a, b) => pick(a, b));
    const plainStats = {
      count,
      min: extremeOf((a, b) => Math.min(a, b)),
      max: extremeOf((a, b) => Math.max(a, b)),
      avg: isEmpty ? null : mean,
      sum: isEmpty ? null : total,
    };
    if (!this.#isExtended) return plainStats;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / count;
    const deviation = Math.sqrt(variance);
    const squares = values.reduce((sum, value) => sum + value * value, 0);
    return {
      ...plainStats,
      sum_of_squares: isEmpty ? null : squares,
      variance: isEmpty ? null : variance,
      std_deviation: isEmpty ? null : deviation,
      std_deviation_bounds: {
        upper: isEmpty ? null : mean + 2 * deviation,
        lower: isEmpty ? null : mean - 2 * deviation,
      },
    };
  }
}

/** Computes percentiles, with linear interpolation between neighbouring values. */
class PercentileCounter implements FacetCounter {
  readonly #field: DocumentField;
  readonly #percents: readonly number[];
  readonly #values: number[] = [];

  constructor(field: DocumentField, percents: readonly number[]) {
    this.#field = field;
    this.#percents = percents;
  }

  add(document: SearchDocument): void {
    this.#values.push(...(fieldValues(this.#field, document) as readonly number[]));
  }

  answer(): object {
    const sorted = this.#values.sort((a, b) => a - b);
    return Object.fromEntries(
      this.#percents.map((percent) => {
        const key = Number.isInteger(percent) ? `${percent}.0` : String(percent);
        if (sorted.length === 0) return [key, null];
        const position = (percent / 100) * (sorted.length - 1);
        const low = sorted[Math.floor(position)]!;
        const high = sorted[Math.ceil(position)]!;
        return [key, low + (high - low) * (position - Math.floor(position))];
      }),
    );
  }
}

/** Converts a value to the form of results: times become ISO 8601 strings. */
export function valueInAnswer({ type }: DocumentField, value: SingleValue): SingleValue {
  return type === 'date' ? new Date(Number(value) / 1_000).toISOString() : value;
}

/** Returns the number of the bin that contains a value; for dates, the start of the bin in microseconds. */
function binStartOf(bins: Bins, value: number): number {
  switch (bins.kind) {
    case 'date':
      return startOfDateUnit(value, bins.unit);
    case 'whole': {
      const [scaled, { digits }] = [BigInt(value) * 10n ** BigInt(bins.scale), bins];
      return Number((scaled - (((scaled % digits) + digits) % digits)) / digits);
    }
    case 'real':
      return Math.floor((value * bins.denominator) / bins.numerator);
    case 'log': {
      const size = Math.abs(value);
      return Math.sign(value) * bins.starts.filter((start) => start <= size).length;
    }
  }
}

function binKeyInAnswer(bins: Bins, bin: number): SingleValue {
  if (bins.kind !== 'date') return Number(binKey(bins, String(bin)));
  const text = new Date(bin / 1_000).toISOString();
  return ['hour', 'minute', 'second'].includes(bins.unit) ? text : text.slice(0, 10);
}

const dayMicros = 86_400_000_000;
const unitMicros = { day: dayMicros, hour: 3_600_000_000, minute: 60_000_000, second: 1_000_000 };

/** Returns the start of the unit of time that contains `time`, in microseconds; weeks start on Monday. */
function startOfDateUnit(time: number, unit: DateUnit): number {
  if (unit === 'day' || unit === 'hour' || unit === 'minute' || unit === 'second')
    return Math.floor(time / unitMicros[unit]) * unitMicros[unit];
  // 1 January 1970 was a Thursday, so weeks are shifted by three days.
  if (unit === 'week')
    return Math.floor((time / dayMicros + 3) / 7) * 7 * dayMicros - 3 * dayMicros;
  const date = new Date(time / 1_000);
  const month = date.getUTCMonth();
  const first = unit === 'year' ? 0 : unit === 'quarter' ? month - (month % 3) : month;
  return Date.UTC(date.getUTCFullYear(), first, 1) * 1_000;
}
