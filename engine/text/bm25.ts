/** How much more occurrences count, and how much a long text is held against it. */
const k1 = 1.2;
const b = 0.75;

/** What the score of a phrase depends on, besides the text: for all texts of a field in a whole snapshot. */
export interface FieldStatistics {
  /** Records with a text. */
  readonly records: number;
  /** Tokens of all of them. */
  readonly tokens: number;
}

/** The numbers of `most * times / (times + (base + slope * words))`, which is BM25. */
export interface Bm25Weight {
  readonly most: number;
  readonly base: number;
  readonly slope: number;
}

/** The weight of a phrase that is in so many records. */
export function bm25Weight({ records, tokens }: FieldStatistics, found: number): Bm25Weight {
  const average = tokens > 0 && records > 0 ? tokens / records : 1;
  return {
    most: inverseDocumentFrequency(records, found) * (k1 + 1),
    base: k1 * (1 - b),
    slope: (k1 * b) / average,
  };
}

/** The inverse document frequency, in the form that is never negative. */
export function inverseDocumentFrequency(records: number, found: number): number {
  return Math.log(1 + (Math.max(records, found) - found + 0.5) / (found + 0.5));
}

/** BM25; SQL computes it in the same order of operations, so that both give the same double. */
export function bm25({ most, base, slope }: Bm25Weight, times: number, words: number): number {
  return (most * times) / (times + (base + slope * words));
}
