import type { Bm25Weight } from '../../text/bm25.js';
import type { Ranking } from '../../text/ranking.js';
import type { Predicate } from '../predicate/predicate.js';
import type { Leaf, RankedClause } from '../text/relevance.js';
import { isSparse, type SelectionVector } from './match/selection-vector.js';

/** The texts of a segment that satisfy a condition, and their scores. */
export interface LeafHits {
  readonly texts: Uint32Array | Int32Array;
  readonly scores: Float64Array;
  /** The greatest score. */
  readonly most: number;
  /** For each row, the number of its text plus one; undefined if each row has the text of the same number. */
  readonly textOf: Uint16Array | Uint32Array | undefined;
  /** True if every score is 1 and has to be multiplied by the weight of the condition. */
  readonly isUnweighted: boolean;
}

export const noHits: LeafHits = { texts: new Uint32Array(0), scores: new Float64Array(0), most: 0, textOf: undefined, isUnweighted: false }; // prettier-ignore

/** The hits of a condition whose score is the same for all rows. */
export function constantHits(rows: Int32Array): LeafHits {
  if (rows.length === 0) return { ...noHits, isUnweighted: true };
  const scores = new Float64Array(rows.length).fill(1);
  return { texts: rows, scores, most: 1, textOf: undefined, isUnweighted: true };
}

/** An upper bound of the scores in a segment, computed by the same operations as the scores, so that it is rounded the same way. */
export function maxScore(
  clauses: readonly RankedClause[],
  tier: number,
  found: ReadonlyMap<Predicate, LeafHits>,
): number {
  let most = 0;
  for (const clause of clauses) {
    const { boost, leaves } = clause;
    let sum = addsTier(clause, clauses) && mayHold(clause.item, found) ? tier : 0;
    for (const [leaf, weight] of leaves) sum += maxOf(leaf, weight, found);
    most += boost * sum;
  }
  return most;
}

/**
 * If a single condition ranks many rows with texts of their own, the rows whose score the page may need: a few thousand for a term of 450,000 rows.
 * Undefined if every row has to be scored.
 */
export function competitiveRows(
  rows: SelectionVector,
  clauses: readonly RankedClause[],
  found: ReadonlyMap<Predicate, LeafHits>,
  ranking: Ranking,
): Int32Array | undefined {
  const [only, ...others] = clauses.flatMap(({ boost, leaves }) =>
    leaves.map(([leaf]) => ({ boost, hits: found.get(leaf)! })),
  );
  const isMany = rows !== 'none' && (rows === 'all' || !isSparse(rows));
  if (!isMany || only === undefined || others.length > 0 || only.hits.textOf) return undefined;
  if (only.hits.isUnweighted || found.size > 1) return undefined;
  if (ranking.wants(0)) return undefined;
  const { boost, hits } = only;
  const { texts, scores } = hits;
  const wanted: number[] = [];
  for (let i = 0; i < texts.length; i++) {
    const row = texts[i]!;
    if (!ranking.wants(boost * scores[i]!)) continue;
    if (rows === 'all' || rows[row] === 1) wanted.push(row);
  }
  return Int32Array.from(wanted);
}

function maxOf(leaf: Leaf, weight: Bm25Weight, found: ReadonlyMap<Predicate, LeafHits>): number {
  const { most, isUnweighted } = found.get(leaf)!;
  return isUnweighted ? weight.most * most : most;
}

function mayHold(item: Predicate, found: ReadonlyMap<Predicate, LeafHits>): boolean {
  if (item.kind === 'or' || item.kind === 'and')
    return item.items.some((each) => mayHold(each, found));
  return found.get(item)!.most > 0;
}

/** Whether a satisfied clause adds the constant of relevance.ts that ranks by the number of clauses: not if it is the only clause and its conditions have scores. */
function addsTier({ leaves }: RankedClause, clauses: readonly RankedClause[]): boolean {
  return clauses.length > 1 || leaves.every(([, { most }]) => most === 0);
}

/** The scores of rows over all clauses, by the operations of relevance.ts in the same order. */
export function scoresByRow(
  clauses: readonly RankedClause[],
  tier: number,
  found: ReadonlyMap<Predicate, LeafHits>,
  rows: Int32Array,
): Float64Array {
  const total = new Float64Array(rows.length);
  const byRow = new Map<Predicate, Float64Array>();
  for (const [leaf, hits] of found) byRow.set(leaf, spreadScores(hits, rows));
  for (const clause of clauses) {
    const sum = new Float64Array(rows.length);
    if (addsTier(clause, clauses)) {
      const isSatisfied = satisfiedRows(clause.item, byRow);
      for (let i = 0; i < sum.length; i++) sum[i] = isSatisfied[i] === 1 ? tier : 0;
    }
    for (const [leaf, { most }] of clause.leaves) {
      const own = byRow.get(leaf)!;
      const factor = found.get(leaf)!.isUnweighted ? most : 1;
      for (let i = 0; i < sum.length; i++) sum[i]! += factor * own[i]!;
    }
    for (let i = 0; i < sum.length; i++) total[i]! += clause.boost * sum[i]!;
  }
  return total;
}

/** The scores of rows, from the scores of their texts. */
function spreadScores({ texts, scores, textOf }: LeafHits, rows: Int32Array): Float64Array {
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

/** For each row, 1 if it satisfies the clause. */
function satisfiedRows(item: Predicate, found: ReadonlyMap<Predicate, Float64Array>): Uint8Array {
  if (item.kind !== 'and' && item.kind !== 'or') {
    const scores = found.get(item)!;
    const holds = new Uint8Array(scores.length);
    for (let i = 0; i < scores.length; i++) if (scores[i]! > 0) holds[i] = 1;
    return holds;
  }
  const [first, ...others] = item.items.map((each) => satisfiedRows(each, found));
  for (const other of others)
    for (let i = 0; i < other.length; i++)
      first![i] = item.kind === 'and' ? first![i]! & other[i]! : first![i]! | other[i]!;
  return first!;
}
