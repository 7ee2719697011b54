import { budgets } from '../../core/budgets.js';
import { AppError } from '../../core/errors.js';
import { binKey } from '../request/facet-bins.js';
import type { BucketFacet, Facet } from '../request/facet-request.js';

/*
 * What facets answer (query language 3.2), for columns in memory, for SQL and for searches: the order, the keys, the texts and the limits
 * of buckets, the members of statistics and their order, the keys of percentiles, and the answer if there are no values. The executors
 * supply the JSON values of single numbers.
 */

/** A facet without buckets, which has a single answer. */
export type BucketlessFacet = Exclude<Facet, BucketFacet>;

/** Returns the JSON text of a facet's answer from the JSON texts of its aggregates. */
export function bucketlessAnswerJson(facet: BucketlessFacet, values: readonly string[]): string {
  if (facet.kind === 'count') return values[0]!;
  if (facet.kind === 'percentiles')
    return jsonObject(
      facet.percents.map((percent, index) => [percentKey(percent), values[index]!]),
    );
  const plainKeys = [
    'count',
    'min',
    'max',
    'avg',
    'sum',
    'sum_of_squares',
    'variance',
    'std_deviation',
  ];
  const members = plainKeys.flatMap((key, index) =>
    values[index] === undefined ? [] : [[key, values[index]] as const],
  );
  const [upper, lower] = values.slice(plainKeys.length);
  if (upper === undefined || lower === undefined) return jsonObject(members);
  const bounds = jsonObject([
    ['upper', upper],
    ['lower', lower],
  ]);
  return jsonObject([...members, ['std_deviation_bounds', bounds]]);
}

/** Returns the number of values that `bucketlessAnswerJson` takes for a facet. */
export function aggregateCount(facet: BucketlessFacet): number {
  if (facet.kind === 'count') return 1;
  if (facet.kind === 'percentiles') return facet.percents.length;
  return facet.extended ? 10 : 5;
}

/** Returns the answer of a facet if no record has a value. */
export function emptyAnswerJson(facet: Facet): string {
  if (facet.kind === 'histogram' || facet.kind === 'terms') return '[]';
  const values = Array.from({ length: aggregateCount(facet) }, () => 'null');
  return bucketlessAnswerJson(
    facet,
    facet.kind === 'percentiles' ? values : ['0', ...values.slice(1)],
  );
}

/** Returns the answers of facets as one JSON object. */
export function facetsJson(facets: readonly Facet[], answers: readonly string[]): string {
  return jsonObject(facets.map(({ field }, index) => [field.name, answers[index]!]));
}

/** Returns the JSON text of a bucket from the JSON text of its key, the number of its records, and the answers of the nested facets. */
export function bucketJson(
  key: string,
  count: string | number,
  nested: readonly Facet[],
  answers: readonly string[],
): string {
  return nested.length === 0
    ? `[${key},${count}]`
    : `[${key},${count},${facetsJson(nested, answers)}]`;
}

/** Returns the JSON text of a bucket's key, from that of the value by which the executor groups. */
export function bucketKeyJson(facet: Facet, value: string): string {
  return facet.kind === 'histogram' ? binKey(facet.bins, value) : value;
}

/** Returns true if a facet's buckets come by descending count, those of equal count by key; false if they come by key. */
export function isOrderedByCount({ kind }: Facet): boolean {
  return kind === 'terms';
}

/** Returns the maximum number of a facet's buckets in the answer below one parent bucket. */
export function bucketLimit(facet: BucketFacet): number {
  return facet.kind === 'terms' ? facet.limit : Infinity;
}

/** Returns the maximum number of buckets that all facets of the same kind in an answer may have together. */
export function maxBuckets(facet: BucketFacet): number {
  return budgets[facet.kind === 'terms' ? 'facetTerms' : 'facetBuckets'];
}

/** Counts the buckets of an answer. */
export class BucketCount {
  readonly #counts = { terms: 0, histogram: 0 };

  /** Adds buckets of a facet. Throws `budget` if the answer then has more than `maxBuckets`. */
  add(facet: BucketFacet, buckets: number): void {
    this.#counts[facet.kind] += buckets;
    const maxCount = maxBuckets(facet);
    if (this.#counts[facet.kind] <= maxCount) return;
    const [bucketNoun, fix] =
      facet.kind === 'terms'
        ? ['terms', 'set the limit of the facet']
        : ['bins', 'take a larger interval'];
    const message = `The facet of ${facet.field.name} has too many ${bucketNoun}: all facets of an answer may have ${maxCount} at most; ${fix}, or narrow the query with filters.`;
    throw new AppError('budget', message, { facets: [message] });
  }
}

function jsonObject(members: readonly (readonly [string, string])[]): string {
  return `{${members.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(',')}}`;
}

/** Returns the key of a percentile: `5.0`, `99.9`. */
function percentKey(percent: number): string {
  return Number.isInteger(percent) ? `${percent}.0` : String(percent);
}
