import type { Bm25Weight } from '../../text/bm25.js';
import { phraseBetweenSlashes, wildcardBetweenSlashes } from '../predicate/text-patterns.js';
import type { ScoreClause, ScoredCondition } from '../predicate/predicate.js';
import { rankingClausesAndTier } from '../text/relevance.js';
import { compilePredicate } from './compile-predicate.js';
import { fieldExpression, type Statement } from './dialect/statement.js';

/** Returns the relevance of a record, as `rankingClausesAndTier` defines it, as an SQL expression; undefined if nothing ranks. */
export function relevanceSql(
  statement: Statement,
  scores: readonly ScoreClause[],
): string | undefined {
  const { clauses, tier } = rankingClausesAndTier(scores);
  if (clauses.length === 0) return undefined;
  const clauseScores = clauses.map(({ item, boost, leaves }) => {
    const { dialect, params } = statement;
    const factor = params.add('double', boost);
    const satisfiedFlag = (): string => dialect.indicator(compilePredicate(statement, item));
    const terms = leaves.flatMap(([leaf, weight]) => termScoreSql(statement, leaf, weight));
    const isEnough = clauses.length === 1 && terms.length > 0;
    const base = isEnough ? [] : [`${params.add('double', tier)} * ${satisfiedFlag()}`];
    return `${factor} * (${[...base, ...terms].join(' + ')})`;
  });
  return `(${clauseScores.join(' + ')})`;
}

/**
 * Returns the score of one condition as SQL: BM25 on a text field, with the same operations in the same order as bm25.ts, and the weight
 * alone on any other field. An empty list for a condition that adds nothing.
 */
function termScoreSql(
  statement: Statement,
  leaf: ScoredCondition,
  { most, base, slope }: Bm25Weight,
): string[] {
  const { dialect, params } = statement;
  const expression = fieldExpression(statement, leaf.field);
  if (!expression || most === 0) return [];
  const maxParam = params.add('double', most);
  if (leaf.field.type !== 'text') {
    return [`${maxParam} * ${dialect.indicator(compilePredicate(statement, leaf))}`];
  }
  const text = expression.isMany ? dialect.joinList(expression.sql) : expression.sql;
  const pattern =
    leaf.kind === 'wildcard'
      ? wildcardBetweenSlashes(leaf.parts)
      : phraseBetweenSlashes(leaf.terms);
  const termCount = dialect.phraseCount(text, params.add('string', pattern));
  // A value may match a wildcard as a whole, although none of its terms does.
  const occurrenceCount =
    leaf.kind === 'wildcard'
      ? `greatest(${termCount}, ${dialect.indicator(compilePredicate(statement, leaf))})`
      : termCount;
  const [baseParam, slopeParam] = [params.add('double', base), params.add('double', slope)];
  return [
    `coalesce((${maxParam} * ${occurrenceCount}) / (${occurrenceCount} + (${baseParam} + ${slopeParam} * ${dialect.textLength(text)})), 0)`,
  ];
}
