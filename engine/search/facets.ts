import { budgets } from '../core/budgets.js';
import { AppError } from '../core/errors.js';
import { binKey, type Bins, type DateUnit } from '../query/request/facet-bins.js';
import type { BucketFacet, Facet } from '../query/request/facets.js';
import { sortable } from './best.js';
import { documentField, type DocumentField, type SearchDocument } from './document.js';

type Single = string | number;

/** Takes in the documents found, one by one, and then tells what a facet of them is (query language 3.2). */
export interface Tally {
  add(document: SearchDocument): void;
  answer(): unknown;
}

/** What facets of documents are counted with; all of one request look at a document once. */
export function tallyOf(facet: Facet): Tally {
  const field = documentField(facet.field.name);
  switch (facet.kind) {
    case 'terms':
    case 'histogram':
      return new Buckets(field, facet);
    case 'count':
      return new Count(field);
    case 'stats':
      return new Stats(field, facet.extended);
    case 'percentiles':
      return new Percentiles(field, facet.percents);
  }
}

/** Every value of a field; a term of a list counts once. */
function valuesOf(field: DocumentField, document: SearchDocument): readonly Single[] {
  const value = field.read(document);
  if (value === null) return [];
  return typeof value === 'object' ? [...new Set(value)] : [value];
}

/** A facet of buckets: what each value falls into, and in which order and form they are shown. */
class Buckets implements Tally {
  readonly #field: DocumentField;
  readonly #facet: BucketFacet;
  readonly #buckets = new Map<Single, { count: number; readonly nested: readonly Tally[] }>();

  constructor(field: DocumentField, facet: BucketFacet) {
    this.#field = field;
    this.#facet = facet;
  }

  add(document: SearchDocument): void {
    const facet = this.#facet;
    for (const value of valuesOf(this.#field, document)) {
      const key = facet.kind === 'terms' ? value : binOf(facet.bins, Number(value));
      let bucket = this.#buckets.get(key);
      if (!bucket) {
        bucket = { count: 0, nested: facet.nested.map(tallyOf) };
        this.#buckets.set(key, bucket);
      }
      bucket.count += 1;
      for (const tally of bucket.nested) tally.add(document);
    }
  }

  answer(): unknown {
    const facet = this.#facet;
    const limit = facet.kind === 'terms' ? facet.limit : Infinity;
    checkCount(this.#field, facet.kind, Math.min(limit, this.#buckets.size));
    const isByCount = facet.kind === 'terms';
    return [...this.#buckets]
      .map(([key, bucket]) => ({
        key,
        ...bucket,
        place: typeof key === 'string' ? sortable(key) : key,
      }))
      .sort((a, b) => (isByCount && b.count - a.count) || (a.place < b.place ? -1 : 1))
      .slice(0, limit)
      .map(({ key, count, nested }) => {
        const shown =
          facet.kind === 'terms' ? shownValue(this.#field, key) : shownBin(facet.bins, Number(key));
        return nested.length === 0
          ? [shown, count]
          : [shown, count, answersOf(facet.nested, nested)];
      });
  }
}

function checkCount({ name }: DocumentField, kind: BucketFacet['kind'], count: number): void {
  const budget = kind === 'terms' ? 'facetTerms' : 'facetBuckets';
  if (count <= budgets[budget]) return;
  const message = `${name} has more than ${budgets[budget]} ${kind === 'terms' ? 'terms' : 'bins'} (budget ${budget})`;
  throw new AppError('budget', message, { facets: [message] });
}

/** The answers of several facets by the names of their fields. */
export function answersOf(facets: readonly Facet[], tallies: readonly Tally[]): object {
  return Object.fromEntries(facets.map((facet, i) => [facet.field.name, tallies[i]!.answer()]));
}

class Count implements Tally {
  readonly #field: DocumentField;
  readonly #seen = new Set<Single>();

  constructor(field: DocumentField) {
    this.#field = field;
  }

  add(document: SearchDocument): void {
    for (const value of valuesOf(this.#field, document)) this.#seen.add(value);
  }

  answer(): number {
    return this.#seen.size;
  }
}

/** Sums in bigints, so that they are exact: ids are large. */
class Stats implements Tally {
  readonly #field: DocumentField;
  readonly #isExtended: boolean;
  readonly #values: number[] = [];

  constructor(field: DocumentField, isExtended: boolean) {
    this.#field = field;
    this.#isExtended = isExtended;
  }

  add(document: SearchDocument): void {
    this.#values.push(...(valuesOf(this.#field, document) as readonly number[]));
  }

  answer(): object {
    const values = this.#values;
    const count = values.length;
    const isEmpty = count === 0;
    const total = values.reduce((sum, value) => sum + BigInt(value), 0n);
    const mean = Number(total) / count;
    const extreme = (pick: (a: number, b: number) => number): number | null =>
      isEmpty ? null : values.reduce((a, b) => pick(a, b));
    const plain = {
      count,
      min: extreme((a, b) => Math.min(a, b)),
      max: extreme((a, b) => Math.max(a, b)),
      avg: isEmpty ? null : mean,
      sum: isEmpty ? null : total,
    };
    if (!this.#isExtended) return plain;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / count;
    const deviation = Math.sqrt(variance);
    const squares = values.reduce((sum, value) => sum + value * value, 0);
    return {
      ...plain,
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

class Percentiles implements Tally {
  readonly #field: DocumentField;
  readonly #percents: readonly number[];
  readonly #values: number[] = [];

  constructor(field: DocumentField, percents: readonly number[]) {
    this.#field = field;
    this.#percents = percents;
  }

  add(document: SearchDocument): void {
    this.#values.push(...(valuesOf(this.#field, document) as readonly number[]));
  }

  /** Linear interpolation between the two nearest. */
  answer(): object {
    const sorted = this.#values.sort((a, b) => a - b);
    return Object.fromEntries(
      this.#percents.map((percent) => {
        const key = Number.isInteger(percent) ? `${percent}.0` : String(percent);
        if (sorted.length === 0) return [key, null];
        const place = (percent / 100) * (sorted.length - 1);
        const low = sorted[Math.floor(place)]!;
        const high = sorted[Math.ceil(place)]!;
        return [key, low + (high - low) * (place - Math.floor(place))];
      }),
    );
  }
}

/** Times as the results have them. */
export function shownValue({ type }: DocumentField, value: Single): Single {
  return type === 'date' ? new Date(Number(value) / 1_000).toISOString() : value;
}

/** Which bin a value falls into; those of dates are the times at which they begin. */
function binOf(bins: Bins, value: number): number {
  switch (bins.kind) {
    case 'date':
      return startOf(value, bins.unit);
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

function shownBin(bins: Bins, bin: number): Single {
  if (bins.kind !== 'date') return Number(binKey(bins, String(bin)));
  const text = new Date(bin / 1_000).toISOString();
  return ['hour', 'minute', 'second'].includes(bins.unit) ? text : text.slice(0, 10);
}

const dayMicros = 86_400_000_000;
const micros = { day: dayMicros, hour: 3_600_000_000, minute: 60_000_000, second: 1_000_000 };

/** The beginning of the unit that a time lies in; weeks begin on Mondays. */
function startOf(time: number, unit: DateUnit): number {
  if (unit === 'day' || unit === 'hour' || unit === 'minute' || unit === 'second')
    return Math.floor(time / micros[unit]) * micros[unit];
  // 1970 began on a Thursday.
  if (unit === 'week')
    return Math.floor((time / dayMicros + 3) / 7) * 7 * dayMicros - 3 * dayMicros;
  const date = new Date(time / 1_000);
  const month = date.getUTCMonth();
  const first = unit === 'year' ? 0 : unit === 'quarter' ? month - (month % 3) : month;
  return Date.UTC(date.getUTCFullYear(), first, 1) * 1_000;
}
