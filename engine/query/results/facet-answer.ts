import { budgets } from '../../core/budgets.js';
import { AppError } from '../../core/errors.js';
import type { BucketFacet, Facet } from '../request/facets.js';

/*
 * What facets answer (query language 3.2), for both executors: the members of statistics and their order, the keys of percentiles, the
 * answer if there are no values, and the limits of buckets. The executors supply the JSON values of single numbers.
 */

/** A facet without buckets, which has a single answer. */
export type BucketlessFacet = Exclude<Facet, BucketFacet>;

/** Returns the JSON text of a facet's answer from the values of its aggregates. */
export function bucketlessAnswerJson(facet: BucketlessFacet, values: readonly string[]): string {
  if (facet.kind === 'count') return values[0]!;
  if (facet.kind === 'percentiles')
    return jsonObject(
      facet.percents.map((percent, index) => [percentKey(percent), values[index]!]),
    );
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
  if (upper === undefined || lower === undefined) return jsonObject(members);
  const bounds = jsonObject([
    ['upper', upper],
    ['lower', lower],
  ]);
  return jsonObject([...members, ['std_deviation_bounds', bounds]]);
}

/** Returns the number of a facet's aggregates. */
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

/** Returns the error for more terms or bins than an answer may have. */
export function tooManyBucketsError(
  field: string,
  budget: 'facetTerms' | 'facetBuckets',
): AppError {
  const [things, fix] =
    budget === 'facetTerms'
      ? ['terms', 'set the limit of the facet']
      : ['bins', 'take a larger interval'];
  const message = `The facet of ${field} has too many ${things}: all facets of an answer may have ${budgets[budget]} at most; ${fix}, or narrow the query with filters.`;
  return new AppError('budget', message, { facets: [message] });
}

function jsonObject(members: readonly (readonly [string, string])[]): string {
  return `{${members.map(([key, text]) => `"${key}":${text}`).join(',')}}`;
}

/** Returns the key of a percentile: `5.0`, `99.9`. */
function percentKey(percent: number): string {
  return Number.isInteger(percent) ? `${percent}.0` : String(percent);
}
