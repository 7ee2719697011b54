/** Term frequency saturation and length normalisation, with their usual values (Robertson and Zaragoza 2009). */
const k1 = 1.2;
const b = 0.75;

/** Statistics of all texts of a field in a snapshot, on which scores depend. */
export interface FieldStatistics {
  /** Number of records with a text. */
  readonly records: number;
  /** The number of tokens in all records. */
  readonly tokens: number;
}

/** The factors of BM25 for one phrase: the score is `most * times / (times + (base + slope * tokens))`. */
export interface Bm25Weight {
  readonly most: number;
  readonly base: number;
  readonly slope: number;
}

/** The weight of a condition that no record satisfies. */
export const noWeight: Bm25Weight = { most: 0, base: 0, slope: 0 };

/** The factors for a phrase that `found` records contain. */
export function bm25Weight({ records, tokens }: FieldStatistics, found: number): Bm25Weight {
  if (found === 0) return noWeight;
  const average = tokens > 0 && records > 0 ? tokens / records : 1;
  return {
    most: inverseDocumentFrequency(records, found) * (k1 + 1),
    base: k1 * (1 - b),
    slope: (k1 * b) / average,
  };
}

/** The inverse document frequency, in the variant that is never negative (as in Lucene). */
export function inverseDocumentFrequency(records: number, found: number): number {
  return Math.log(1 + (Math.max(records, found) - found + 0.5) / (found + 0.5));
}

/** The score of a text with `times` occurrences among `words` tokens. SQL uses the same order of operations, so both give the same double. */
export function bm25({ most, base, slope }: Bm25Weight, times: number, words: number): number {
  return (most * times) / (times + (base + slope * words));
}

/**
 * The constant that each matching clause adds to a score besides its BM25: more than all clauses can add together, so that a record which
 * matches more clauses ranks higher (query language 4.4).
 */
export function tierOf(weights: readonly Bm25Weight[]): number {
  return weights.length === 1 ? 0 : weights.reduce((sum, { most }) => sum + most, 1);
}
