import { compile } from './compile.js';
import { phraseStart, wildcardPattern } from './patterns.js';
import type { Predicate, Score } from './predicate.js';
import { access, type Statement } from './statement.js';

/**
 * The relevance of a record (query language 4.4), largest first; undefined if nothing ranks. Each clause that a record satisfies counts 1, and a text
 * less than 1 more for how often it holds the words and how short it is: BM25's saturation of term frequency (k1 1.2, b 0.75)
 * with a fixed average length. Those parts are divided by the number of clauses, so that a record which satisfies more of them
 * always comes first.
 */
export function relevance(statement: Statement, scores: readonly Score[]): string | undefined {
  const parts = scores.filter(({ boost }) => boost > 0).map((score) => part(statement, score, scores.length)); // prettier-ignore
  return parts.length === 0 ? undefined : `(${parts.join(' + ')})`;
}

/** What the text conditions of filters contribute: a clause for every word. Those that are negated rank nothing. */
export function scoresOf(predicate: Predicate): readonly Score[] {
  if (predicate.kind === 'and' || predicate.kind === 'or') return predicate.items.flatMap(scoresOf);
  if (predicate.kind !== 'words') return [];
  return predicate.words.map((word) => ({ item: { ...predicate, words: [word] }, boost: 1 }));
}

function part(statement: Statement, { item, boost }: Score, clauses: number): string {
  const { dialect, params } = statement;
  const closeness = leavesOf(item).flatMap((leaf) => frequency(statement, leaf));
  const satisfied = dialect.indicator(compile(statement, item));
  const factor = params.add('double', boost);
  if (closeness.length === 0) return `${factor} * ${satisfied}`;
  const share = 1 / (clauses * closeness.length);
  return `${factor} * (${satisfied} + ${params.add('double', share)} * (${closeness.join(' + ')}))`;
}

type Leaf = Extract<Predicate, { kind: 'words' | 'phrase' | 'wildcard' }>;

/** A clause that names no field is one leaf for each of them. */
function leavesOf(item: Predicate): readonly Leaf[] {
  if (item.kind === 'or' || item.kind === 'and') return item.items.flatMap(leavesOf);
  return item.kind === 'words' || item.kind === 'phrase' || item.kind === 'wildcard' ? [item] : [];
}

/** From 0 to 1: how often a text holds what is wanted, against its length. Strings are names, whose length says nothing. */
function frequency(statement: Statement, leaf: Leaf): string[] {
  const { dialect, params } = statement;
  const values = access(statement, leaf.field);
  if (!values || leaf.field.type !== 'text') return [];
  const text = values.isMany ? dialect.joinList(values.sql) : values.sql;
  const length = dialect.textLength(text);
  const [first, ...more] = leaf.kind === 'wildcard' ? [] : leaf.words;
  const count =
    leaf.kind === 'wildcard'
      ? dialect.patternCount(text, params.add('string', wildcardPattern(leaf.parts)))
      : more.length === 0
        ? dialect.wordCount(text, params.add('string', first!))
        : dialect.patternCount(text, params.add('string', phraseStart(leaf.words)));
  return [`coalesce(${count} / (${count} + 1.2 * (0.25 + 0.75 * ${length} / 100.0)), 0)`];
}
