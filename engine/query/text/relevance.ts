import { tierOf } from '../../text/ranked-search.js';
import type { Bm25Weight } from '../../text/bm25.js';
import { compile } from '../sql/compile.js';
import { phraseBetweenSlashes, wildcardPattern } from '../predicate/patterns.js';
import type { Predicate, Score } from '../predicate/predicate.js';
import { access, type Statement } from '../sql/statement.js';

/**
 * The relevance of a record (query language 4.4) in SQL, largest first; undefined if nothing ranks: for each clause that the record
 * satisfies its boost times BM25 in all fields that it looks into (k1 1.2, b 0.75, lengths and rarity of the whole
 * snapshot), and a constant above all that BM25 can come to, so that a record which satisfies more clauses comes first. Where the index of
 * words answers (text-plan.ts), it computes the same double.
 */
export function relevance(statement: Statement, scores: readonly Score[]): string | undefined {
  const { clauses, tier } = clausesOf(scores);
  if (clauses.length === 0) return undefined;
  const parts = clauses.map(({ item, boost, leaves }) => {
    const { dialect, params } = statement;
    const factor = params.add('double', boost);
    const satisfied = (): string => dialect.indicator(compile(statement, item));
    const terms = leaves.flatMap(([leaf, weight]) => term(statement, leaf, weight));
    const isEnough = clauses.length === 1 && terms.length > 0;
    const base = isEnough ? [] : [`${params.add('double', tier)} * ${satisfied()}`];
    return `${factor} * (${[...base, ...terms].join(' + ')})`;
  });
  return `(${parts.join(' + ')})`;
}

/**
 * Whether all records that satisfy the predicate rank the same, and so come in insertion order: each clause is one condition
 * that all of them satisfy, and of a string it does not count how often.
 */
export function ranksAlike(predicate: Predicate, scores: readonly Score[]): boolean {
  return scores.every(({ item, boost }) => {
    if (boost <= 0) return true;
    const isOne = item.kind !== 'and' && item.kind !== 'or';
    return isOne && leavesOf(item).every(isEven) && requires(predicate, item);
  });
}

function isEven({ field }: Leaf): boolean {
  return field.type !== 'text';
}

function requires(predicate: Predicate, item: Predicate): boolean {
  if (predicate === item) return true;
  return predicate.kind === 'and' && predicate.items.some((one) => requires(one, item));
}

/** A clause that ranks, and what each of its conditions counts. */
export interface RankedClause {
  readonly item: Predicate;
  readonly boost: number;
  readonly leaves: readonly (readonly [Leaf, Bm25Weight])[];
}

/** The clauses that rank, and what each of them adds to the records that satisfy it beside its conditions. */
export function clausesOf(scores: readonly Score[]): {
  readonly clauses: readonly RankedClause[];
  readonly tier: number;
} {
  const clauses = scores
    .filter(({ boost }) => boost > 0)
    .map(({ item, boost, weights }) => {
      const weightOf = (leaf: Leaf): Bm25Weight => weights?.get(leaf) ?? unweighed(leaf);
      return { item, boost, leaves: leavesOf(item).map((leaf) => [leaf, weightOf(leaf)] as const) };
    });
  const most = clauses.map(({ leaves }) => ({ ...unknown, most: leaves.reduce((sum, [, one]) => sum + one.most, 0) })); // prettier-ignore
  return { clauses, tier: tierOf(most) || 1 };
}

/** What the text conditions of filters contribute: a clause for every word. Those that are negated rank nothing. */
export function scoresOf(predicate: Predicate): readonly Score[] {
  if (predicate.kind === 'and' || predicate.kind === 'or') return predicate.items.flatMap(scoresOf);
  if (predicate.kind !== 'words') return [];
  return predicate.words.map((word) => ({ item: { ...predicate, words: [word] }, boost: 1 }));
}

/** A condition that says more of a record than that it satisfies it. */
export type Leaf = Extract<Predicate, { kind: 'words' | 'phrase' | 'wildcard' }>;

/** A clause that names no field is one leaf for each of them. */
export function leavesOf(item: Predicate): readonly Leaf[] {
  if (item.kind === 'or' || item.kind === 'and') return item.items.flatMap(leavesOf);
  return item.kind === 'words' || item.kind === 'phrase' || item.kind === 'wildcard' ? [item] : [];
}

/** Where nothing was counted: an average length of 100 words, and every word as rare as the others. */
const unknown: Bm25Weight = { most: 2.2, base: 0.3, slope: 0.009 };

function unweighed({ field }: Leaf): Bm25Weight {
  return field.type === 'text' ? unknown : { most: 0, base: 0, slope: 0 };
}

/** BM25 of one condition; the same order of operations as in bm25.ts. */
function term(statement: Statement, leaf: Leaf, { most, base, slope }: Bm25Weight): string[] {
  const { dialect, params } = statement;
  const values = access(statement, leaf.field);
  if (!values || most === 0) return [];
  const mostAt = params.add('double', most);
  if (leaf.field.type !== 'text') {
    return [`${mostAt} * ${dialect.indicator(compile(statement, leaf))}`];
  }
  const text = values.isMany ? dialect.joinList(values.sql) : values.sql;
  const times =
    leaf.kind === 'wildcard'
      ? dialect.patternCount(text, params.add('string', wildcardPattern(leaf.parts)))
      : dialect.phraseCount(text, params.add('string', phraseBetweenSlashes(leaf.words)));
  const [baseAt, slopeAt] = [params.add('double', base), params.add('double', slope)];
  return [
    `coalesce((${mostAt} * ${times}) / (${times} + (${baseAt} + ${slopeAt} * ${dialect.textLength(text)})), 0)`,
  ];
}
