import { budgets } from '../../core/budgets.js';
import { AppError } from '../../core/errors.js';
import type { BucketFacet, Facet } from '../request/facets.js';

/*
 * What a facet answers (query language 3.2), for both executors: the members of statistics and their order, the keys of
 * percentiles,
 * the answer over no values, and the limits of buckets. Executors give the JSON values of single numbers.
 */

/** A facet of one answer: no buckets. */
export type BucketlessFacet = Exclude<Facet, BucketFacet>;

/** The JSON text of a facet's answer from the values of its aggregates. */
export function flatAnswer(facet: BucketlessFacet, values: readonly string[]): string {
  if (facet.kind === 'count') return values[0]!;
  if (facet.kind === 'percentiles')
    return object(facet.percents.map((percent, index) => [percentKey(percent), values[index]!]));
  const plain = [
    'count',
    'min',
    'max',
    'avg',
    'sum',
    'sum_of_squares',
    'variance',
    'std_deviation',
  ];
  const members = plain.flatMap((key, index) =>
    values[index] === undefined ? [] : [[key, values[index]] as const],
  );
  const [upper, lower] = values.slice(plain.length);
  if (upper === undefined || lower === undefined) return object(members);
  const bounds = object([
    ['upper', upper],
    ['lower', lower],
  ]);
  return object([...members, ['std_deviation_bounds', bounds]]);
}

/** The number of a facet's aggregates. */
export function aggregateCount(facet: BucketlessFacet): number {
  if (facet.kind === 'count') return 1;
  if (facet.kind === 'percentiles') return facet.percents.length;
  return facet.extended ? 10 : 5;
}

/** The answer of a facet if no record has a value. */
export function emptyAnswer(facet: Facet): string {
  if (facet.kind === 'histogram' || facet.kind === 'terms') return '[]';
  const values = Array.from({ length: aggregateCount(facet) }, () => 'null');
  return flatAnswer(facet, facet.kind === 'percentiles' ? values : ['0', ...values.slice(1)]);
}

/** The error for more terms or bins than an answer may have. */
export function tooManyBuckets(field: string, budget: 'facetTerms' | 'facetBuckets'): AppError {
  const [things, fix] =
    budget === 'facetTerms'
      ? ['terms', 'set the limit of the facet']
      : ['bins', 'take a larger interval'];
  const message = `The facet of ${field} has too many ${things}: all facets of an answer may have ${budgets[budget]} at most; ${fix}, or narrow the query with filters.`;
  return new AppError('budget', message, { facets: [message] });
}

function object(members: readonly (readonly [string, string])[]): string {
  return `{${members.map(([key, text]) => `"${key}":${text}`).join(',')}}`;
}

/** The key of a percentile: `5.0`, `99.9`. */
function percentKey(percent: number): string {
  return Number.isInteger(percent) ? `${percent}.0` : String(percent);
}
