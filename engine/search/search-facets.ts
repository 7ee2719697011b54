import type { Bins, DateUnit } from '../query/request/facet-bins.js';
import type { BucketFacet, Facet } from '../query/request/facet-request.js';
import {
  aggregateCount,
  BucketCount,
  bucketJson,
  bucketKeyJson,
  bucketLimit,
  bucketlessAnswerJson,
  emptyAnswerJson,
  facetsJson,
  isOrderedByCount,
  type BucketlessFacet,
} from '../query/results/facet-answer.js';
import { quoteJson } from '../query/results/number-text.js';
import { sortableText } from './top-documents.js';
import { documentField, type DocumentField, type SearchDocument } from './document.js';

type SingleValue = string | number;

/** Accumulates one facet over the matching documents (query language 3.2). */
interface FacetCounter {
  add(document: SearchDocument): void;
  /** Returns the JSON text of the answer, and adds its buckets to `count`. */
  answer(count: BucketCount): string;
}

export function createFacetCounter(facet: Facet): FacetCounter {
  const field = documentField(facet.field.name);
  switch (facet.kind) {
    case 'terms':
    case 'histogram':
      return new BucketCounter(field, facet);
    case 'count':
      return new DistinctCounter(field);
    case 'stats':
      return new NumberAggregates(field, facet, statistics);
    case 'percentiles':
      return new NumberAggregates(field, facet, percentiles);
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
      const key = facet.kind === 'terms' ? value : binNumberOf(facet.bins, Number(value));
      let bucket = this.#buckets.get(key);
      if (!bucket) {
        bucket = { count: 0, nested: facet.nested.map(createFacetCounter) };
        this.#buckets.set(key, bucket);
      }
      bucket.count += 1;
      for (const counter of bucket.nested) counter.add(document);
    }
  }

  answer(count: BucketCount): string {
    const facet = this.#facet;
    const limit = bucketLimit(facet);
    count.add(facet, Math.min(limit, this.#buckets.size));
    const isByCount = isOrderedByCount(facet);
    const buckets = [...this.#buckets]
      .map(([key, bucket]) => ({
        key,
        ...bucket,
        sortKey: typeof key === 'string' ? sortableText(key) : key,
      }))
      .sort((a, b) => (isByCount && b.count - a.count) || (a.sortKey < b.sortKey ? -1 : 1))
      .slice(0, limit)
      .map(({ key, count: documents, nested }) => {
        const value =
          facet.kind === 'terms'
            ? termJson(valueInAnswer(this.#field, key))
            : binValueJson(facet.bins, Number(key));
        const answers = nested.map((counter) => counter.answer(count));
        return bucketJson(bucketKeyJson(facet, value), documents, facet.nested, answers);
      });
    return `[${buckets.join(',')}]`;
  }
}

/** Returns the JSON text of the answers of several facets. Throws `budget` if the whole answer has too many buckets. */
export function facetAnswers(facets: readonly Facet[], counters: readonly FacetCounter[]): string {
  const count = new BucketCount();
  return facetsJson(
    facets,
    counters.map((counter) => counter.answer(count)),
  );
}

/** Counts the distinct values of a field. */
class DistinctCounter implements FacetCounter {
  readonly #field: DocumentField;
  readonly #distinctValues = new Set<SingleValue>();

  constructor(field: DocumentField) {
    this.#field = field;
  }

  add(document: SearchDocument): void {
    for (const value of fieldValues(this.#field, document)) this.#distinctValues.add(value);
  }

  answer(): string {
    return String(this.#distinctValues.size);
  }
}

/** Computes a facet of all numbers of a field. `aggregates` returns the facet's values for one or more numbers in ascending order. */
class NumberAggregates<F extends BucketlessFacet> implements FacetCounter {
  readonly #field: DocumentField;
  readonly #facet: F;
  readonly #aggregates: (facet: F, sorted: readonly number[]) => readonly (number | bigint)[];
  readonly #values: number[] = [];

  constructor(
    field: DocumentField,
    facet: F,
    aggregates: (facet: F, sorted: readonly number[]) => readonly (number | bigint)[],
  ) {
    this.#field = field;
    this.#facet = facet;
    this.#aggregates = aggregates;
  }

  add(document: SearchDocument): void {
    this.#values.push(...(fieldValues(this.#field, document) as readonly number[]));
  }

  answer(): string {
    if (this.#values.length === 0) return emptyAnswerJson(this.#facet);
    const sortedValues = this.#values.sort((a, b) => a - b);
    return bucketlessAnswerJson(
      this.#facet,
      this.#aggregates(this.#facet, sortedValues).map(String),
    );
  }
}

/** Returns statistics in the order of `bucketlessAnswerJson`. The sum is a bigint, because a sum of ids may exceed 2^53. */
function statistics(
  facet: Extract<Facet, { kind: 'stats' }>,
  sorted: readonly number[],
): readonly (number | bigint)[] {
  const total = sorted.reduce((sum, value) => sum + BigInt(value), 0n);
  const mean = Number(total) / sorted.length;
  const variance = sorted.reduce((sum, value) => sum + (value - mean) ** 2, 0) / sorted.length;
  const deviation = Math.sqrt(variance);
  const squares = sorted.reduce((sum, value) => sum + value * value, 0);
  return [
    sorted.length,
    sorted[0]!,
    sorted.at(-1)!,
    mean,
    total,
    squares,
    variance,
    deviation,
    mean + 2 * deviation,
    mean - 2 * deviation,
  ].slice(0, aggregateCount(facet));
}

/** Returns percentiles, with linear interpolation between neighbouring values. */
function percentiles(
  { percents }: Extract<Facet, { kind: 'percentiles' }>,
  sorted: readonly number[],
): readonly number[] {
  return percents.map((percent) => {
    const position = (percent / 100) * (sorted.length - 1);
    const low = sorted[Math.floor(position)]!;
    const high = sorted[Math.ceil(position)]!;
    return low + (high - low) * (position - Math.floor(position));
  });
}

/** Converts a value to the form of results: times become ISO 8601 strings. */
export function valueInAnswer({ type }: DocumentField, value: SingleValue): SingleValue {
  return type === 'date' ? new Date(Number(value) / 1_000).toISOString() : value;
}

/** Returns the number of the bin that contains a value; for dates, the start of the bin in microseconds. */
function binNumberOf(bins: Bins, value: number): number {
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

function termJson(value: SingleValue): string {
  return typeof value === 'string' ? quoteJson(value) : String(value);
}

/** Returns the JSON text of a bin's number; of the start of the bin for dates. */
function binValueJson(bins: Bins, bin: number): string {
  if (bins.kind !== 'date') return String(bin);
  const text = new Date(bin / 1_000).toISOString();
  return termJson(['hour', 'minute', 'second'].includes(bins.unit) ? text : text.slice(0, 10));
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
