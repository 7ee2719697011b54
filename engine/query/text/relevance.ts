import { tierOf, type Bm25Weight } from '../../text/bm25.js';
import { compilePredicate } from '../sql/compile.js';
import { phraseBetweenSlashes, wildcardPattern } from '../predicate/patterns.js';
import type { Predicate, ScoreTerm } from '../predicate/predicate.js';
import { fieldExpression, type Statement } from '../sql/statement.js';

/**
 * The relevance of a record (query language 4.4) as an SQL expression; undefined if nothing ranks. For each clause that the record
 * satisfies, it adds boost × (tier + BM25 of all fields of the clause). BM25 has k1 = 1.2 and b = 0.75, with text lengths and document
 * frequencies of the whole snapshot. The tier is larger than any sum of BM25, so that records that satisfy more clauses come first; it is
 * left out where a single clause has scores of its own. The memory executor computes the same double.
 */
export function relevanceSql(
  statement: Statement,
  scores: readonly ScoreTerm[],
): string | undefined {
  const { clauses, tier } = clausesOf(scores);
  if (clauses.length === 0) return undefined;
  const parts = clauses.map(({ item, boost, leaves }) => {
    const { dialect, params } = statement;
    const factor = params.add('double', boost);
    const satisfiedFlag = (): string => dialect.indicator(compilePredicate(statement, item));
    const terms = leaves.flatMap(([leaf, weight]) => termScore(statement, leaf, weight));
    const isEnough = clauses.length === 1 && terms.length > 0;
    const base = isEnough ? [] : [`${params.add('double', tier)} * ${satisfiedFlag()}`];
    return `${factor} * (${[...base, ...terms].join(' + ')})`;
  });
  return `(${parts.join(' + ')})`;
}

/**
 * True if all records that satisfy the predicate have the same score and so are in insertion order: each clause is a single condition
 * that the predicate requires, and its field is not a text, where the number of occurrences counts.
 */
export function ranksAlike(predicate: Predicate, scores: readonly ScoreTerm[]): boolean {
  return scores.every(({ item, boost }) => {
    if (boost <= 0) return true;
    const isOne = item.kind !== 'and' && item.kind !== 'or';
    return isOne && leavesOf(item).every(isConstant) && requiresItem(predicate, item);
  });
}

function isConstant({ field }: Leaf): boolean {
  return field.type !== 'text';
}

function requiresItem(predicate: Predicate, item: Predicate): boolean {
  if (predicate === item) return true;
  return predicate.kind === 'and' && predicate.items.some((one) => requiresItem(one, item));
}

/** A clause that ranks, and the weights of its conditions. */
export interface RankedClause {
  readonly item: Predicate;
  readonly boost: number;
  readonly leaves: readonly (readonly [Leaf, Bm25Weight])[];
}

/** The clauses that rank, and the tier: what each clause adds for records that satisfy it, besides the scores of its conditions. */
export function clausesOf(scores: readonly ScoreTerm[]): {
  readonly clauses: readonly RankedClause[];
  readonly tier: number;
} {
  const clauses = scores
    .filter(({ boost }) => boost > 0)
    .map(({ item, boost, weights }) => {
      const weightOf = (leaf: Leaf): Bm25Weight => weights?.get(leaf) ?? unweighedLeaf(leaf);
      return { item, boost, leaves: leavesOf(item).map((leaf) => [leaf, weightOf(leaf)] as const) };
    });
  const clauseWeights = clauses.map(({ leaves }) => ({ ...defaultWeight, most: leaves.reduce((sum, [, one]) => sum + one.most, 0) })); // prettier-ignore
  return { clauses, tier: tierOf(clauseWeights) || 1 };
}

/** The clauses of the text conditions in filters: one for every term. Negated conditions do not rank. */
export function scoreTermsOf(predicate: Predicate): readonly ScoreTerm[] {
  if (predicate.kind === 'and' || predicate.kind === 'or')
    return predicate.items.flatMap(scoreTermsOf);
  if (predicate.kind !== 'terms') return [];
  return predicate.terms.map((term) => ({ item: { ...predicate, terms: [term] }, boost: 1 }));
}

/** A condition that has a score. */
export type Leaf = Extract<Predicate, { kind: 'terms' | 'phrase' | 'wildcard' }>;

/** The conditions of a clause that have a score. A clause without a field has one for each field. */
export function leavesOf(item: Predicate): readonly Leaf[] {
  if (item.kind === 'or' || item.kind === 'and') return item.items.flatMap(leavesOf);
  return isTermLeaf(item) ? [item] : [];
}

/** True for a condition that has a score. */
export function isTermLeaf(item: Predicate): item is Leaf {
  return item.kind === 'terms' || item.kind === 'phrase' || item.kind === 'wildcard';
}

/** True for a condition, without AND and OR, on a field whose texts determine the score. */
export function isOfText(item: Predicate): boolean {
  return leavesOf(item).some(({ field }) => field.type === 'text');
}

/** The weight of a text condition without statistics: an average length of 100 terms, and the same frequency for all terms. */
const defaultWeight: Bm25Weight = { most: 2.2, base: 0.3, slope: 0.009 };

function unweighedLeaf({ field }: Leaf): Bm25Weight {
  return field.type === 'text' ? defaultWeight : { most: 0, base: 0, slope: 0 };
}

/** BM25 of one condition, by the operations of bm25.ts in the same order. */
function termScore(statement: Statement, leaf: Leaf, { most, base, slope }: Bm25Weight): string[] {
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
