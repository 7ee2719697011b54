import { kindOf } from '../query/predicate/kinds/index.js';
import type { ScoreClause, ScoredCondition } from '../query/predicate/predicate.js';
import { isSatisfiedByAnyOccurrence, scoredConditionsOf } from '../query/text/relevance.js';
import { documentField, type SearchDocument } from './document.js';
import { compileDocumentTest } from './matches.js';

/** The relevance of a document; higher is better. */
export type RankFunction = (document: SearchDocument) => number;

/** The average text length that BM25 assumes, in characters. */
const averageTextCharacters = 60;

/**
 * Compiles the relevance function of a query (query language 4.4); undefined if no clause has a positive boost. A satisfied clause scores
 * its boost times the sum of 1 and a value for term frequency and text length, by BM25's saturation (k1 1.2, b 0.75). That value is below 1
 * divided by the number of clauses, so with equal boosts, documents that satisfy more clauses come first. Choice: searches rank names and
 * paths as text, so a short name comes before a long path.
 */
export function compileRank(scores: readonly ScoreClause[]): RankFunction | undefined {
  const clauseRanks = scores
    .filter(({ boost }) => boost > 0)
    .map((score) => clauseRank(score, scores.length));
  if (clauseRanks.length === 0) return undefined;
  return (document) => clauseRanks.reduce((sum, part) => sum + part(document), 0);
}

function clauseRank({ item, boost }: ScoreClause, clauseCount: number): RankFunction {
  const closeness = scoredConditionsOf(item).map(saturatedFrequency);
  const share = closeness.length === 0 ? 0 : 1 / (clauseCount * closeness.length);
  // A clause that any occurrence satisfies needs no matcher.
  const matches = isSatisfiedByAnyOccurrence(item) ? undefined : compileDocumentTest(item);
  return (document) => {
    const sum = closeness.reduce((found, of) => found + of(document), 0);
    const isSatisfied = matches ? matches(document) : sum > 0;
    return isSatisfied ? boost * (1 + share * sum) : 0;
  };
}

/** Returns the rank function of one text condition: its saturated term frequency, from 0 to 1. */
function saturatedFrequency(leaf: ScoredCondition): RankFunction {
  const { read } = documentField(leaf.field.name);
  const count = kindOf(leaf).occurrences!(leaf);
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
