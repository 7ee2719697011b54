import type { Statement } from './statement.js';
import type { BucketFacet } from '../request/facets.js';
import type { FlatFacet } from '../results/facet-answer.js';
import type { StoredType } from '../../core/types.js';

/** The aggregates over a column of single values that make up a facet's answer: each a JSON text, or null. */
export function aggregates(
  { dialect, params }: Statement,
  facet: FlatFacet,
  value: string,
  type: StoredType,
): readonly string[] {
  const whole = (sql: string): string => dialect.json(sql, 'long');
  const real = (sql: string): string => dialect.json(sql, 'double');
  if (facet.kind === 'count') return [whole(dialect.countDistinct(value, type))];
  if (facet.kind === 'percentiles') {
    const fractions = facet.percents.map((percent) => percent / 100);
    const quantiles = dialect.quantiles(value, params.add('double', fractions));
    return facet.percents.map((_, index) => real(`${quantiles}[${index + 1}]`));
  }
  const isReal = type === 'double' || type === 'float';
  const mean = dialect.mean(value, type);
  const plain = [
    whole(`count(${value})`),
    dialect.json(`min(${value})`, type),
    dialect.json(`max(${value})`, type),
    real(mean),
    // Choice: no values have no sum, rather than the sum 0.
    // Choice: a sum or a square beyond the largest double is null, and so is the variance of values of 1e145 or more.
    isReal ? real(dialect.sum(value, type)) : whole(dialect.sum(value, type)),
  ];
  if (!facet.extended) return plain;
  const variance = dialect.variance(value);
  return [
    ...plain,
    real(dialect.sumOfSquares(value)),
    real(variance),
    real(`sqrt(${variance})`),
    real(`${mean} + 2 * sqrt(${variance})`),
    real(`${mean} - 2 * sqrt(${variance})`),
  ];
}

/** What a facet of buckets groups a value by, and the type of that. */
export interface Bucketing {
  readonly of: (value: string) => string;
  readonly type: StoredType;
}

/** The same for values of this type; what it binds is bound once, so ask once for each facet. */
export function bucketing(
  { dialect, params }: Statement,
  facet: BucketFacet,
  type: StoredType,
): Bucketing {
  const isReal = type === 'double' || type === 'float';
  // -0 is no other term than 0.
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
