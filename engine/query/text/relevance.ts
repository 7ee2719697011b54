import { clauseTierOf, type Bm25Weight } from '../../text/bm25.js';
import { compilePredicate } from '../sql/compile.js';
import { phraseBetweenSlashes, wildcardPattern } from '../predicate/patterns.js';
import type { Predicate, ScoreClause } from '../predicate/predicate.js';
import { fieldExpression, type Statement } from '../sql/statement.js';

/**
 * Returns the relevance of a record (query language 4.4) as an SQL expression; undefined if nothing ranks. Each clause that the record
 * satisfies adds boost × (tier + BM25 over all fields of the clause). BM25 has k1 = 1.2 and b = 0.75, with text lengths and document
 * frequencies of the whole snapshot. The tier is larger than any sum of BM25, so that records that satisfy more clauses come first; it is
 * omitted if there is only one clause and that has scores. The memory executor computes the same double.
 */
export function relevanceSql(
  statement: Statement,
  scores: readonly ScoreClause[],
): string | undefined {
  const { clauses, tier } = rankedClausesOf(scores);
  if (clauses.length === 0) return undefined;
  const parts = clauses.map(({ item, boost, leaves }) => {
    const { dialect, params } = statement;
    const factor = params.add('double', boost);
    const satisfiedFlag = (): string => dialect.indicator(compilePredicate(statement, item));
    const terms = leaves.flatMap(([leaf, weight]) => termScoreSql(statement, leaf, weight));
    const isEnough = clauses.length === 1 && terms.length > 0;
    const base = isEnough ? [] : [`${params.add('double', tier)} * ${satisfiedFlag()}`];
    return `${factor} * (${[...base, ...terms].join(' + ')})`;
  });
  return `(${parts.join(' + ')})`;
}

/**
 * Returns true if all records that satisfy the predicate have the same score, and therefore come in insertion order. This is so if each
 * clause is a single condition that the predicate requires, on a field that is not a text; in texts, the number of occurrences counts.
 */
export function haveAllEqualScores(predicate: Predicate, scores: readonly ScoreClause[]): boolean {
  return scores.every(({ item, boost }) => {
    if (boost <= 0) return true;
    const isOne = item.kind !== 'and' && item.kind !== 'or';
    return (
      isOne &&
      scoredConditionsOf(item).every(hasConstantScore) &&
      requiresCondition(predicate, item)
    );
  });
}

function hasConstantScore({ field }: ScoredCondition): boolean {
  return field.type !== 'text';
}

function requiresCondition(predicate: Predicate, item: Predicate): boolean {
  if (predicate === item) return true;
  return predicate.kind === 'and' && predicate.items.some((one) => requiresCondition(one, item));
}

/** A clause with a positive boost, and its text conditions with their weights. */
export interface RankedClause {
  readonly item: Predicate;
  readonly boost: number;
  readonly leaves: readonly (readonly [ScoredCondition, Bm25Weight])[];
}

/**
 * Returns the clauses that rank, and the tier: what each clause adds for records that satisfy it, in addition to the scores of its
 * conditions.
 */
export function rankedClausesOf(scores: readonly ScoreClause[]): {
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

/** Returns the clauses for the text conditions in filters: one for every term. Negated conditions do not rank. */
export function scoreClausesOf(predicate: Predicate): readonly ScoreClause[] {
  if (predicate.kind === 'and' || predicate.kind === 'or')
    return predicate.items.flatMap(scoreClausesOf);
  if (predicate.kind !== 'terms') return [];
  return predicate.terms.map((term) => ({ item: { ...predicate, terms: [term] }, boost: 1 }));
}

/** A condition that has a score. */
export type ScoredCondition = Extract<Predicate, { kind: 'terms' | 'phrase' | 'wildcard' }>;

/** Returns the conditions of a clause that have a score. A clause without a field has one condition for each field. */
export function scoredConditionsOf(item: Predicate): readonly ScoredCondition[] {
  if (item.kind === 'or' || item.kind === 'and') return item.items.flatMap(scoredConditionsOf);
  return isScoredCondition(item) ? [item] : [];
}

/** Returns true for a condition that has a score. */
export function isScoredCondition(item: Predicate): item is ScoredCondition {
  return item.kind === 'terms' || item.kind === 'phrase' || item.kind === 'wildcard';
}

/** Returns true for a condition (not an AND or OR) on a field whose texts determine the score. */
export function isTextCondition(item: Predicate): boolean {
  return scoredConditionsOf(item).some(({ field }) => field.type === 'text');
}

/** The weight of a text condition without statistics: an average length of 100 terms, and the same frequency for all terms. */
const defaultWeight: Bm25Weight = { most: 2.2, base: 0.3, slope: 0.009 };

function weightWithoutStatistics({ field }: ScoredCondition): Bm25Weight {
  return field.type === 'text' ? defaultWeight : { most: 0, base: 0, slope: 0 };
}

/** Returns the BM25 score of one condition as SQL, with the same operations in the same order as bm25.ts. */
function termScoreSql(
  statement: Statement,
  leaf: ScoredCondition,
  { most, base, slope }: Bm25Weight,
): string[] {
  const { dialect, params } = statement;
  const values = fieldExpression(statement, leaf.field);
  if (!values || most === 0) return [];
  const maxParam = params.add('double', most);
  if (leaf.field.type !== 'text') {
    return [`${maxParam} * ${dialect.indicator(compilePredicate(statement, leaf))}`];
  }
  const text = values.isMany ? dialect.joinList(values.sql) : values.sql;
  const occurrenceCount =
    leaf.kind === 'wildcard'
      ? dialect.patternCount(text, params.add('string', wildcardPattern(leaf.parts)))
      : dialect.phraseCount(text, params.add('string', phraseBetweenSlashes(leaf.terms)));
  const [baseParam, slopeParam] = [params.add('double', base), params.add('double', slope)];
  return [
    `coalesce((${maxParam} * ${occurrenceCount}) / (${occurrenceCount} + (${baseParam} + ${slopeParam} * ${dialect.textLength(text)})), 0)`,
  ];
}
