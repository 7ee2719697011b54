import { RE2JS } from 're2js';
import { foldText } from '../text/fold.js';
import { wildcardPattern } from '../query/predicate/patterns.js';
import { countPhrase } from '../query/predicate/plain-values.js';
import type { Predicate, ScoreClause } from '../query/predicate/predicate.js';
import { scoredConditionsOf, type ScoredCondition } from '../query/text/relevance.js';
import { documentField, type SearchDocument } from './document.js';
import { compileDocumentTest } from './matches.js';

/** The relevance of a document; higher is better. */
export type RankFunction = (document: SearchDocument) => number;

/** The average text length that BM25 assumes, in characters. */
const averageTextCharacters = 60;

/**
 * Compiles the relevance function of a query (query language 4.4); undefined if no clause has a positive boost. A satisfied clause scores 1
 * plus a value below 1 for term frequency and text length, by BM25's saturation (k1 1.2, b 0.75), so documents that satisfy more clauses
 * come first. Choice: searches rank names and paths as text, so a short name comes before a long path.
 */
export function compileRank(scores: readonly ScoreClause[]): RankFunction | undefined {
  const parts = scores
    .filter(({ boost }) => boost > 0)
    .map((score) => clauseRank(score, scores.length));
  if (parts.length === 0) return undefined;
  return (document) => parts.reduce((sum, part) => sum + part(document), 0);
}

function clauseRank({ item, boost }: ScoreClause, clauses: number): RankFunction {
  const closeness = scoredConditionsOf(item).map(saturatedFrequency);
  const share = closeness.length === 0 ? 0 : 1 / (clauses * closeness.length);
  // A clause that consists only of terms is satisfied if any of its terms occurs, so it needs no matcher.
  const matches = hasOnlyTerms(item) ? undefined : compileDocumentTest(item);
  return (document) => {
    const sum = closeness.reduce((found, of) => found + of(document), 0);
    const isSatisfied = matches ? matches(document) : sum > 0;
    return isSatisfied ? boost * (1 + share * sum) : 0;
  };
}

function hasOnlyTerms(item: Predicate): boolean {
  return item.kind === 'or'
    ? item.items.every(hasOnlyTerms)
    : item.kind === 'phrase' || item.kind === 'wildcard';
}

/** Returns the rank function of one text condition: its saturated term frequency, from 0 to 1. */
function saturatedFrequency(leaf: ScoredCondition): RankFunction {
  const { read } = documentField(leaf.field.name);
  const count = occurrenceCounter(leaf);
  return (document) => {
    const value = read(document);
    if (value === null) return 0;
    const text = typeof value === 'object' ? value.join(' ') : String(value);
    const occurrenceCount = count(text);
    if (occurrenceCount === 0) return 0;
    const length = text.length / averageTextCharacters;
    return occurrenceCount / (occurrenceCount + 1.2 * (0.25 + 0.75 * length));
  };
}

function occurrenceCounter(leaf: ScoredCondition): (text: string) => number {
  if (leaf.kind === 'wildcard') {
    const pattern = RE2JS.compile(wildcardPattern(leaf.parts));
    return (text) => (pattern.test(text) ? 1 : 0);
  }
  const foldedTerms = leaf.terms.map(foldText);
  if (leaf.kind === 'phrase') return (text) => countPhrase(text, foldedTerms);
  return (text) => foldedTerms.reduce((sum, word) => sum + countPhrase(text, [word]), 0);
}
