import type { Statement } from './dialect/statement.js';
import type { BucketFacet } from '../request/facet-request.js';
import type { BucketlessFacet } from '../results/facet-answer.js';
import type { StoredType } from '../../core/types.js';

/** Returns the name of the column with the pivot of the groups for the extended statistics of another column. */
export function pivotColumn(value: string): string {
  return `${value}p`;
}

/** Returns the SQL aggregates of a facet's answer over a column of single values; each yields a JSON text or null. */
export function facetAggregates(
  { dialect, params }: Statement,
  facet: BucketlessFacet,
  value: string,
  type: StoredType,
): readonly string[] {
  const integerJson = (sql: string): string => dialect.json(sql, 'long');
  const real = (sql: string): string => dialect.json(sql, 'double');
  if (facet.kind === 'count') return [integerJson(dialect.countDistinct(value, type))];
  if (facet.kind === 'percentiles') {
    const fractions = facet.percents.map((percent) => percent / 100);
    const quantiles = dialect.quantiles(value, params.add('double', fractions));
    return facet.percents.map((_, index) => real(`${quantiles}[${index + 1}]`));
  }
  const isReal = type === 'double' || type === 'float';
  const mean = dialect.mean(value, type);
  const plainStats = [
    integerJson(`count(${value})`),
    dialect.json(`min(${value})`, type),
    dialect.json(`max(${value})`, type),
    real(mean),
    // Choice: without values the sum is null, not 0.
    // Choice: a sum, a sum of squares or a variance beyond the largest double is null.
    isReal ? real(dialect.sum(value, type)) : integerJson(dialect.sum(value, type)),
  ];
  if (!facet.extended) return plainStats;
  const variance = dialect.variance(value, pivotColumn(value), type);
  return [
    ...plainStats,
    real(dialect.sumOfSquares(value)),
    real(variance),
    real(`sqrt(${variance})`),
    real(`${mean} + 2 * sqrt(${variance})`),
    real(`${mean} - 2 * sqrt(${variance})`),
  ];
}

/** The SQL expression of a value's bucket, and its type. */
export interface BucketExpression {
  readonly of: (value: string) => string;
  readonly type: StoredType;
}

/** Returns the bucket expression of a facet for values of a type. It binds parameters, so call it once per facet. */
export function bucketExpressionOf(
  { dialect, params }: Statement,
  facet: BucketFacet,
  type: StoredType,
): BucketExpression {
  const isReal = type === 'double' || type === 'float';
  // -0 and 0 are counted as one value, 0.
  if (facet.kind === 'terms' && isReal)
    return { of: (value) => `CASE WHEN ${value} = 0 THEN 0 ELSE ${value} END`, type };
  if (facet.kind === 'terms') return { of: (value) => value, type };
  const { bins } = facet;
  if (bins.kind === 'date') return { of: (value) => dialect.truncate(value, bins.unit), type };
  if (bins.kind === 'whole') {
    const factor = bins.scale === 0 ? '1' : params.add('long', 10n ** BigInt(bins.scale));
    const divisor = params.add('long', bins.digits);
    return { of: (value) => dialect.floorDivide(value, factor, divisor), type: 'long' };
  }
  if (bins.kind === 'real') {
    const numerator = params.add('double', bins.numerator);
    const denominator = params.add('double', bins.denominator);
    return { of: (value) => dialect.floorEdge(value, numerator, denominator), type: 'double' };
  }
  const isWhole = typeof bins.starts[0] === 'bigint';
  const starts = params.add(isWhole ? 'long' : 'double', bins.starts);
  const first = params.add('long', BigInt(bins.first));
  const step = params.add('double', bins.step);
  return {
    of: (value) => dialect.powerBin(value, isWhole, starts, first, step),
    type: 'long',
  };
}
