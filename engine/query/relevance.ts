import type { Predicate } from './predicate.js';
import { access, type Statement } from './statement.js';

/**
 * The order by relevance that a `contains` on a text field asks for: more occurrences and shorter texts first. Empty if the
 * predicate asks for none. The score is BM25 (k1 1.2, b 0.75) with one weight for all words and a fixed average length, because
 * every word of a `contains` occurs in every match.
 */
export function relevance(statement: Statement, predicate: Predicate): readonly string[] {
  const scores = wanted(predicate).flatMap((item) => score(statement, item));
  return scores.length === 0 ? [] : [`(${scores.join(' + ')}) DESC`];
}

type Words = Extract<Predicate, { kind: 'words' }>;

/** The text conditions that are not negated. */
function wanted(predicate: Predicate): readonly Words[] {
  if (predicate.kind === 'words') return [predicate];
  return predicate.kind === 'and' || predicate.kind === 'or' ? predicate.items.flatMap(wanted) : [];
}

function score(statement: Statement, { field, words }: Words): string[] {
  const { dialect, params } = statement;
  const values = access(statement, field);
  if (!values) return [];
  const text = values.isMany ? dialect.joinList(values.sql) : values.sql;
  const length = dialect.textLength(text);
  return words.map((word) => {
    const count = dialect.wordCount(text, params.add('string', word));
    return `coalesce(${count} * 2.2 / (${count} + 1.2 * (0.25 + 0.75 * ${length} / 100.0)), 0)`;
  });
}
