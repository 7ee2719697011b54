import { clauseTierOf, type Bm25Weight } from '../../text/bm25.js';
import { isScoredCondition, operandsOf, type Predicate, type ScoreClause, type ScoredCondition } from '../predicate/predicate.js'; // prettier-ignore

/**
 * Returns true if each clause with a positive boost is a single condition or a negation that the predicate requires, and is no scored
 * condition on a text field. All records that satisfy the predicate then have the same score and come in insertion order. The
 * score of a condition on a text depends on the number of occurrences.
 */
export function haveAllEqualScores(predicate: Predicate, scores: readonly ScoreClause[]): boolean {
  return scores.every(({ item, boost }) => {
    if (boost <= 0) return true;
    const isOne = item.kind !== 'and' && item.kind !== 'or';
    return isOne && !isTextCondition(item) && requiresCondition(predicate, item);
  });
}

function requiresCondition(predicate: Predicate, item: Predicate): boolean {
  if (predicate === item) return true;
  return predicate.kind === 'and' && predicate.items.some((one) => requiresCondition(one, item));
}

/** A clause with a positive boost, and its scored conditions with their weights. */
export interface RankedClause {
  readonly item: Predicate;
  readonly boost: number;
  readonly leaves: readonly (readonly [ScoredCondition, Bm25Weight])[];
}

/**
 * Returns the clauses with a positive boost, and the tier: what a clause adds to the score of a record that satisfies it, in addition to
 * the scores of its conditions. The relevance of a record (query language 4.4) is the sum over the clauses of boost × (tier + scores): the
 * tier if the record satisfies the clause, and the scores of those of its conditions that the record satisfies. The score of a condition is
 * BM25 on a text field and an inverse document frequency on any other, by the statistics of the whole snapshot. The tier is greater than
 * all these scores together, so that with equal boosts records that satisfy more clauses come first; executors leave it out if there is
 * only one clause and a condition of it has a positive weight. All executors compute the same double: the same operations in the same
 * order.
 */
export function rankingClausesAndTier(scores: readonly ScoreClause[]): {
  readonly clauses: readonly RankedClause[];
  readonly tier: number;
} {
  const clauses = scores
    .filter(({ boost }) => boost > 0)
    .map(({ item, boost, weights }) => {
      const weightOf = (leaf: ScoredCondition): Bm25Weight =>
        weights?.get(leaf) ?? weightWithoutStatistics(leaf);
      return {
        item,
        boost,
        leaves: scoredConditionsOf(item).map((leaf) => [leaf, weightOf(leaf)] as const),
      };
    });
  const clauseWeights = clauses.map(({ leaves }) => ({ ...defaultWeight, most: leaves.reduce((sum, [, one]) => sum + one.most, 0) })); // prettier-ignore
  return { clauses, tier: clauseTierOf(clauseWeights) || 1 };
}

/**
 * Returns the score clauses of filters: one for each term of each `terms` condition. Negated conditions and those on the elements of a list
 * contribute none.
 */
export function scoreClausesOf(predicate: Predicate): readonly ScoreClause[] {
  return operandsOf(predicate).flatMap((operand) => {
    if (operand.kind !== 'terms') return [];
    return operand.terms.map((term) => ({ item: { ...operand, terms: [term] }, boost: 1 }));
  });
}

/** Returns the conditions of a clause that have a score and are not negated. */
export function scoredConditionsOf(item: Predicate): readonly ScoredCondition[] {
  return operandsOf(item).filter(isScoredCondition);
}

/**
 * Returns true for a clause that a text satisfies if any of its scored conditions occurs in it: a phrase, a wildcard, or an OR of these.
 */
export function isSatisfiedByAnyOccurrence(item: Predicate): boolean {
  return item.kind === 'or'
    ? item.items.every(isSatisfiedByAnyOccurrence)
    : isScoredCondition(item) && item.kind !== 'terms';
}

/** Returns true for a scored condition on a text field; `item` must not be an AND or OR. */
export function isTextCondition(item: Predicate): boolean {
  return scoredConditionsOf(item).some(({ field }) => field.type === 'text');
}

/** The weight of each condition that ranks. */
export type ConditionWeights = ReadonlyMap<ScoredCondition, Bm25Weight>;

/**
 * Returns the scored conditions of the clauses. None if there is only one and it is not on a text: it gives all records that satisfy it the
 * same score, so its weight does not change the order.
 */
export function conditionsToWeigh(scores: readonly ScoreClause[]): readonly ScoredCondition[] {
  const conditions = scores.flatMap(({ item }) => scoredConditionsOf(item));
  return conditions.length === 1 && !isTextCondition(conditions[0]!) ? [] : conditions;
}

/** The weight of a text condition without statistics: an average length of 100 terms, and the same frequency for all terms. */
const defaultWeight: Bm25Weight = { most: 2.2, base: 0.3, slope: 0.009 };

function weightWithoutStatistics({ field }: ScoredCondition): Bm25Weight {
  return field.type === 'text' ? defaultWeight : { most: 0, base: 0, slope: 0 };
}
