/**
 * The parameters of BM25 for term frequency saturation (`saturationK1`) and length normalisation (`lengthNormalizationB`), with their usual
 * values (Robertson and Zaragoza 2009).
 */
const saturationK1 = 1.2;
const lengthNormalizationB = 0.75;

/** Statistics of all texts of a field in a snapshot, which scores depend on. */
export interface FieldStatistics {
  /** Number of records with a text. */
  readonly records: number;
  /** The number of tokens in all records. */
  readonly tokens: number;
}

/**
 * The BM25 factors of one phrase. A text of `tokens` tokens in which the phrase occurs `times` times scores `most * times / (times + base +
 * slope * tokens)`.
 */
export interface Bm25Weight {
  readonly most: number;
  readonly base: number;
  readonly slope: number;
}

/** The weight of a condition that no record satisfies. */
export const noWeight: Bm25Weight = { most: 0, base: 0, slope: 0 };

/** Returns the factors for a phrase that `found` records contain. */
export function bm25Weight({ records, tokens }: FieldStatistics, found: number): Bm25Weight {
  if (found === 0) return noWeight;
  const average = tokens > 0 && records > 0 ? tokens / records : 1;
  return {
    most: inverseDocumentFrequency(records, found) * (saturationK1 + 1),
    base: saturationK1 * (1 - lengthNormalizationB),
    slope: (saturationK1 * lengthNormalizationB) / average,
  };
}

/**
 * Returns the weight of a condition on a field that is not a text. It depends only on the number `found` of records that satisfy the
 * condition, and on the number of records that have a value.
 */
export function documentFrequencyWeight(records: number, found: number): Bm25Weight {
  return found === 0 ? noWeight : { ...noWeight, most: inverseDocumentFrequency(records, found) };
}

/** Returns the inverse document frequency, in the variant that is never negative (as in Lucene). */
function inverseDocumentFrequency(records: number, found: number): number {
  return Math.log(1 + (Math.max(records, found) - found + 0.5) / (found + 0.5));
}

/**
 * Returns the score of a text with `times` occurrences among `tokens` tokens. SQL uses the same order of operations, so both give the same
 * double.
 */
export function bm25({ most, base, slope }: Bm25Weight, times: number, tokens: number): number {
  return (most * times) / (times + (base + slope * tokens));
}

/**
 * Returns the constant that each matching clause adds to a score in addition to its BM25. It is greater than the sum of all clauses' BM25,
 * so that of clauses with equal boosts, a record that matches more ranks higher (query language 4.4); 0 if there is only one clause.
 */
export function clauseTierOf(weights: readonly Bm25Weight[]): number {
  return weights.length === 1 ? 0 : weights.reduce((sum, { most }) => sum + most, 1);
}
