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
  readonly greatestScore: number;
  /** For each row, the number of its text plus one, or 0 if it has no text; undefined if row i has text i. */
  readonly textOf: Uint16Array | Uint32Array | undefined;
  /** True if every score is 1 and has to be multiplied by the weight of the condition. */
  readonly isUnweighted: boolean;
}

export const noHits: LeafHits = { texts: new Uint32Array(0), scores: new Float64Array(0), greatestScore: 0, textOf: undefined, isUnweighted: false }; // prettier-ignore

/** Returns the hits of a condition whose score is the same for all rows. */
export function constantHits(rows: Int32Array): LeafHits {
  if (rows.length === 0) return { ...noHits, isUnweighted: true };
  const scores = new Float64Array(rows.length).fill(1);
  return { texts: rows, scores, greatestScore: 1, textOf: undefined, isUnweighted: true };
}

/** Returns an upper bound of the scores of the rows of a segment. */
export function maxScore(
  clauses: readonly RankedClause[],
  tier: number,
  hitsByCondition: ReadonlyMap<Predicate, LeafHits>,
): number {
  return clausesScore(
    clauses,
    tier,
    hitsByCondition,
    (condition) => hitsByCondition.get(condition)!.greatestScore,
  );
}

/**
 * Returns the score of a row from the scores of its conditions, which `scoreOf` returns; they are 0 for conditions that the row does not
 * satisfy. The result never decreases when one of these scores grows. The operations and their rounding are those of `scoresByRow`.
 */
function clausesScore(
  clauses: readonly RankedClause[],
  tier: number,
  hitsByCondition: ReadonlyMap<Predicate, LeafHits>,
  scoreOf: (condition: Predicate) => number,
): number {
  const holds = (item: Predicate): boolean => {
    if (item.kind === 'or') return item.items.some(holds);
    return item.kind === 'and' ? item.items.every(holds) : scoreOf(item) > 0;
  };
  let total = 0;
  for (const clause of clauses) {
    let sum = hasTierScore(clause, clauses) && holds(clause.item) ? tier : 0;
    for (const [leaf, { most }] of clause.leaves)
      sum += (hitsByCondition.get(leaf)!.isUnweighted ? most : 1) * scoreOf(leaf);
    total += clause.boost * sum;
  }
  return total;
}

/**
 * Returns the matching rows whose score may be high enough for the requested page, for example a few thousand of the 450,000 rows of a
 * frequent term. Undefined if every matching row has to be scored, or if few rows match.
 */
export function competitiveRows(
  matching: SelectionVector,
  rows: number,
  clauses: readonly RankedClause[],
  tier: number,
  hitsByCondition: ReadonlyMap<Predicate, LeafHits>,
  ranking: Ranking,
): Int32Array | undefined {
  if (matching === 'none' || (matching !== 'all' && isSparse(matching))) return undefined;
  if (ranking.wants(0)) return undefined;
  const isWanted = (scores: ReadonlyMap<Predicate, number>): boolean =>
    ranking.wants(
      clausesScore(clauses, tier, hitsByCondition, (condition) => scores.get(condition) ?? 0),
    );
  const maxScores = new Map([...hitsByCondition].filter(([, hits]) => hits.greatestScore > 0).map(([condition, hits]) => [condition, hits.greatestScore])); // prettier-ignore
  const selected = new Uint8Array(rows);
  // Conditions whose greatest scores together are too low for the requested page. A row that satisfies no other condition cannot be on the
  // page, so only the rows of the other conditions are candidates (MaxScore; Turtle and Flood 1995).
  const insufficientScores = new Map<Predicate, number>();
  const ascending = [...maxScores].sort((a, b) => soloScore(a) - soloScore(b));
  for (const [condition, greatest] of ascending) {
    if (!isWanted(insufficientScores.set(condition, greatest))) continue;
    const unwanted = greatestUncompetitiveScore(greatest, (score) =>
      isWanted(new Map(maxScores).set(condition, score)),
    );
    selectRowsScoringAbove(selected, hitsByCondition.get(condition)!, unwanted);
  }
  if (matching !== 'all') intersectInto(selected, matching);
  return rowNumbers(selected, rows);

  function soloScore([condition, greatest]: readonly [Predicate, number]): number {
    return clausesScore(clauses, tier, hitsByCondition, (each) =>
      each === condition ? greatest : 0,
    );
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
  hitsByCondition: ReadonlyMap<Predicate, LeafHits>,
  rows: Int32Array,
): Float64Array {
  const totals = new Float64Array(rows.length);
  const rowScoresByCondition = new Map<Predicate, Float64Array>();
  for (const [leaf, hits] of hitsByCondition)
    if (hits.greatestScore > 0) rowScoresByCondition.set(leaf, rowScoresOfTexts(hits, rows));
  for (const clause of clauses) {
    const sums = new Float64Array(rows.length);
    if (hasTierScore(clause, clauses)) {
      const isSatisfied = satisfiedRows(clause.item, rowScoresByCondition, rows.length);
      for (let i = 0; i < sums.length; i++) sums[i] = isSatisfied[i] === 1 ? tier : 0;
    }
    for (const [leaf, { most }] of clause.leaves) {
      const rowScores = rowScoresByCondition.get(leaf);
      if (rowScores === undefined) continue;
      const factor = hitsByCondition.get(leaf)!.isUnweighted ? most : 1;
      for (let i = 0; i < sums.length; i++) sums[i]! += factor * rowScores[i]!;
    }
    for (let i = 0; i < sums.length; i++) totals[i]! += clause.boost * sums[i]!;
  }
  return totals;
}

/** Returns the scores of rows, taken from the scores of their texts. */
function rowScoresOfTexts({ texts, scores, textOf }: LeafHits, rows: Int32Array): Float64Array {
  const rowScores = new Float64Array(rows.length);
  if (textOf === undefined) {
    for (let i = 0, at = 0; i < rows.length && at < texts.length; i++) {
      while (at < texts.length && texts[at]! < rows[i]!) at += 1;
      if (texts[at] === rows[i]) rowScores[i] = scores[at]!;
    }
    return rowScores;
  }
  const byText = new Float64Array(texts.at(-1)! + 2);
  for (let i = 0; i < texts.length; i++) byText[texts[i]! + 1] = scores[i]!;
  for (let i = 0; i < rows.length; i++) {
    const text = textOf[rows[i]!]!;
    if (text < byText.length) rowScores[i] = byText[text]!;
  }
  return rowScores;
}

/** Returns one byte for each row: 1 if it satisfies the clause. */
function satisfiedRows(
  item: Predicate,
  scores: ReadonlyMap<Predicate, Float64Array>,
  count: number,
): Uint8Array {
  const holds = new Uint8Array(count);
  if (item.kind !== 'and' && item.kind !== 'or') {
    const rowScores = scores.get(item);
    if (rowScores !== undefined)
      for (let i = 0; i < count; i++) if (rowScores[i]! > 0) holds[i] = 1;
    return holds;
  }
  for (const [at, each] of item.items.entries()) {
    const otherRows = satisfiedRows(each, scores, count);
    if (at === 0 || item.kind === 'or') uniteInto(holds, otherRows);
    else intersectInto(holds, otherRows);
  }
  return holds;
}
