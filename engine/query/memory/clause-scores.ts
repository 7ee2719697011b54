import type { Ranking } from '../../text/ranking.js';
import type { Predicate } from '../predicate/predicate.js';
import type { RankedClause } from '../text/relevance.js';
import { isSparse, rowNumbers, type SelectionVector } from './match/selection-vector.js';
import { intersectInto, uniteInto } from './match/selection-bytes.js';

/** The texts of a segment that satisfy a condition, and their scores. */
export interface LeafHits {
  readonly texts: Uint32Array | Int32Array;
  readonly scores: Float64Array;
  /** The greatest score of the texts. */
  readonly most: number;
  /** For each row, the number of its text plus one; undefined if row i has text i. */
  readonly textOf: Uint16Array | Uint32Array | undefined;
  /** True if every score is 1 and has to be multiplied by the weight of the condition. */
  readonly isUnweighted: boolean;
}

export const noHits: LeafHits = { texts: new Uint32Array(0), scores: new Float64Array(0), most: 0, textOf: undefined, isUnweighted: false }; // prettier-ignore

/** Returns the hits of a condition whose score is the same for all rows. */
export function constantHits(rows: Int32Array): LeafHits {
  if (rows.length === 0) return { ...noHits, isUnweighted: true };
  const scores = new Float64Array(rows.length).fill(1);
  return { texts: rows, scores, most: 1, textOf: undefined, isUnweighted: true };
}

/** Returns an upper bound of the scores of the rows of a segment. */
export function maxScore(
  clauses: readonly RankedClause[],
  tier: number,
  found: ReadonlyMap<Predicate, LeafHits>,
): number {
  return clausesScore(clauses, tier, found, (condition) => found.get(condition)!.most);
}

/**
 * Returns the score of a row from the scores `own` of its conditions, which are 0 for conditions that it does not satisfy. The result grows
 * with each of these scores: the operations and their rounding are those of `scoresByRow`.
 */
function clausesScore(
  clauses: readonly RankedClause[],
  tier: number,
  found: ReadonlyMap<Predicate, LeafHits>,
  own: (condition: Predicate) => number,
): number {
  const holds = (item: Predicate): boolean => {
    if (item.kind === 'or') return item.items.some(holds);
    return item.kind === 'and' ? item.items.every(holds) : own(item) > 0;
  };
  let total = 0;
  for (const clause of clauses) {
    let sum = hasTierScore(clause, clauses) && holds(clause.item) ? tier : 0;
    for (const [leaf, { most }] of clause.leaves)
      sum += (found.get(leaf)!.isUnweighted ? most : 1) * own(leaf);
    total += clause.boost * sum;
  }
  return total;
}

/**
 * Returns the matching rows whose score may be high enough for the requested page: a few thousand of the 450,000 rows of a frequent term.
 * Undefined if every matching row has to be scored, or if few rows match.
 */
export function competitiveRows(
  matching: SelectionVector,
  rows: number,
  clauses: readonly RankedClause[],
  tier: number,
  found: ReadonlyMap<Predicate, LeafHits>,
  ranking: Ranking,
): Int32Array | undefined {
  if (matching === 'none' || (matching !== 'all' && isSparse(matching))) return undefined;
  if (ranking.wants(0)) return undefined;
  const isWanted = (scores: ReadonlyMap<Predicate, number>): boolean =>
    ranking.wants(clausesScore(clauses, tier, found, (condition) => scores.get(condition) ?? 0));
  const most = new Map([...found].filter(([, hits]) => hits.most > 0).map(([condition, hits]) => [condition, hits.most])); // prettier-ignore
  const selected = new Uint8Array(rows);
  // Conditions whose greatest scores together are too low for the requested page. A row that satisfies no other condition cannot be on the
  // page, so only the rows of the other conditions are candidates (MaxScore; Turtle and Flood 1995).
  const insufficient = new Map<Predicate, number>();
  const ascending = [...most].sort((a, b) => soloScore(a) - soloScore(b));
  for (const [condition, greatest] of ascending) {
    if (!isWanted(insufficient.set(condition, greatest))) continue;
    const unwanted = greatestUncompetitiveScore(greatest, (score) =>
      isWanted(new Map(most).set(condition, score)),
    );
    selectRowsScoringAbove(selected, found.get(condition)!, unwanted);
  }
  if (matching !== 'all') intersectInto(selected, matching);
  return rowNumbers(selected, rows);

  function soloScore([condition, greatest]: readonly [Predicate, number]): number {
    return clausesScore(clauses, tier, found, (each) => (each === condition ? greatest : 0));
  }
}

/**
 * Returns a score that is too low for the requested page (`isWanted` is false), close to the greatest such score; 0 if there is none.
 * `greatest` is a score that is high enough.
 */
function greatestUncompetitiveScore(
  greatest: number,
  isWanted: (score: number) => boolean,
): number {
  let [low, high] = [0, greatest];
  for (let round = 0; round < 40; round++) {
    const middle = (low + high) / 2;
    if (isWanted(middle)) high = middle;
    else low = middle;
  }
  return low;
}

/** Selects the rows whose text has a score greater than `above`. */
function selectRowsScoringAbove(
  selected: Uint8Array,
  { texts, scores, textOf }: LeafHits,
  above: number,
): void {
  if (textOf === undefined) {
    for (let i = 0; i < texts.length; i++) if (scores[i]! > above) selected[texts[i]!] = 1;
    return;
  }
  const isWanted = new Uint8Array(texts.at(-1)! + 2);
  for (let i = 0; i < texts.length; i++) if (scores[i]! > above) isWanted[texts[i]! + 1] = 1;
  for (let row = 0; row < selected.length; row++) {
    const text = textOf[row]!;
    if (text < isWanted.length) selected[row]! |= isWanted[text]!;
  }
}

/**
 * Returns whether a satisfied clause adds the tier (`rankingClausesAndTier`), by which records that satisfy more clauses come first. A
 * clause does not if it is the only one and any of its conditions has a score.
 */
function hasTierScore({ leaves }: RankedClause, clauses: readonly RankedClause[]): boolean {
  return clauses.length > 1 || leaves.every(([, { most }]) => most === 0);
}

/** Returns the scores of rows over all clauses, by the same operations in the same order as relevance-sql.ts. */
export function scoresByRow(
  clauses: readonly RankedClause[],
  tier: number,
  found: ReadonlyMap<Predicate, LeafHits>,
  rows: Int32Array,
): Float64Array {
  const total = new Float64Array(rows.length);
  const byRow = new Map<Predicate, Float64Array>();
  for (const [leaf, hits] of found)
    if (hits.most > 0) byRow.set(leaf, rowScoresOfTexts(hits, rows));
  for (const clause of clauses) {
    const sum = new Float64Array(rows.length);
    if (hasTierScore(clause, clauses)) {
      const isSatisfied = satisfiedRows(clause.item, byRow, rows.length);
      for (let i = 0; i < sum.length; i++) sum[i] = isSatisfied[i] === 1 ? tier : 0;
    }
    for (const [leaf, { most }] of clause.leaves) {
      const own = byRow.get(leaf);
      if (own === undefined) continue;
      const factor = found.get(leaf)!.isUnweighted ? most : 1;
      for (let i = 0; i < sum.length; i++) sum[i]! += factor * own[i]!;
    }
    for (let i = 0; i < sum.length; i++) total[i]! += clause.boost * sum[i]!;
  }
  return total;
}

/** Returns the scores of rows, taken from the scores of their texts. */
function rowScoresOfTexts({ texts, scores, textOf }: LeafHits, rows: Int32Array): Float64Array {
  const spread = new Float64Array(rows.length);
  if (textOf === undefined) {
    for (let i = 0, at = 0; i < rows.length && at < texts.length; i++) {
      while (at < texts.length && texts[at]! < rows[i]!) at += 1;
      if (texts[at] === rows[i]) spread[i] = scores[at]!;
    }
    return spread;
  }
  const byText = new Float64Array(texts.at(-1)! + 2);
  for (let i = 0; i < texts.length; i++) byText[texts[i]! + 1] = scores[i]!;
  for (let i = 0; i < rows.length; i++) {
    const text = textOf[rows[i]!]!;
    if (text < byText.length) spread[i] = byText[text]!;
  }
  return spread;
}

/** Returns one byte for each row: 1 if it satisfies the clause. */
function satisfiedRows(
  item: Predicate,
  scores: ReadonlyMap<Predicate, Float64Array>,
  count: number,
): Uint8Array {
  const holds = new Uint8Array(count);
  if (item.kind !== 'and' && item.kind !== 'or') {
    const own = scores.get(item);
    if (own !== undefined) for (let i = 0; i < count; i++) if (own[i]! > 0) holds[i] = 1;
    return holds;
  }
  for (const [at, each] of item.items.entries()) {
    const other = satisfiedRows(each, scores, count);
    if (at === 0 || item.kind === 'or') uniteInto(holds, other);
    else intersectInto(holds, other);
  }
  return holds;
}
