/** How much more occurrences count, and how much a long text is held against it. */
const k1 = 1.2;
const b = 0.75;

/** What the score of a phrase depends on, besides the text: for all texts of a field in a whole snapshot. */
export interface FieldStatistics {
  /** Records with a text. */
  readonly records: number;
  /** Words of all of them. */
  readonly words: number;
}

/** The numbers of `most * times / (times + (base + slope * words))`, which is BM25. */
export interface Weight {
  readonly most: number;
  readonly base: number;
  readonly slope: number;
}

/** The weight of a phrase that is in so many records. */
export function weightOf({ records, words }: FieldStatistics, found: number): Weight {
  const average = words > 0 && records > 0 ? words / records : 1;
  return { most: rarity(records, found) * (k1 + 1), base: k1 * (1 - b), slope: (k1 * b) / average };
}

/** The inverse document frequency, in the form that is never negative. */
export function rarity(records: number, found: number): number {
  return Math.log(1 + (Math.max(records, found) - found + 0.5) / (found + 0.5));
}

/** BM25; SQL computes it in the same order of operations, so that both give the same double. */
export function bm25({ most, base, slope }: Weight, times: number, words: number): number {
  return (most * times) / (times + (base + slope * words));
}
