import { RE2JS } from 're2js';
import { foldText } from '../text/fold.js';
import { wildcardPattern } from '../query/predicate/patterns.js';
import { countPhrase } from '../query/predicate/plain-values.js';
import type { Predicate, ScoreTerm } from '../query/predicate/predicate.js';
import { documentField, type SearchDocument } from './document.js';
import { matcherOf } from './matches.js';

/** The relevance of a document; higher is better. */
export type Rank = (document: SearchDocument) => number;

/** The average length of BM25, in characters. */
const averageLength = 60;

/**
 * Compiles the relevance function of a query (query language 4.4); undefined if no clause has a positive boost. A satisfied clause
 * scores 1, plus less than 1 for term frequency and text length by BM25's saturation (k1 1.2, b 0.75), so documents that satisfy more
 * clauses come first. Choice: searches rank names and paths as text, so a short name comes before a long path.
 */
export function rankOf(scores: readonly ScoreTerm[]): Rank | undefined {
  const parts = scores
    .filter(({ boost }) => boost > 0)
    .map((score) => partOf(score, scores.length));
  if (parts.length === 0) return undefined;
  return (document) => parts.reduce((sum, part) => sum + part(document), 0);
}

function partOf({ item, boost }: ScoreTerm, clauses: number): Rank {
  const closeness = leavesOf(item).map(closenessOf);
  const share = closeness.length === 0 ? 0 : 1 / (clauses * closeness.length);
  // A clause of terms alone is satisfied if any of its terms occurs.
  const matches = hasOnlyTerms(item) ? undefined : matcherOf(item);
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

type TextLeaf = Extract<Predicate, { kind: 'terms' | 'phrase' | 'wildcard' }>;

/** The text leaves of a clause. A clause without a field has one leaf per searched field. */
function leavesOf(item: Predicate): readonly TextLeaf[] {
  if (item.kind === 'or' || item.kind === 'and') return item.items.flatMap(leavesOf);
  return item.kind === 'terms' || item.kind === 'phrase' || item.kind === 'wildcard' ? [item] : [];
}

/** The saturated term frequency of a leaf, from 0 to 1. */
function closenessOf(leaf: TextLeaf): Rank {
  const { read } = documentField(leaf.field.name);
  const count = counterOf(leaf);
  return (document) => {
    const value = read(document);
    if (value === null) return 0;
    const text = typeof value === 'object' ? value.join(' ') : String(value);
    const occurrenceCount = count(text);
    if (occurrenceCount === 0) return 0;
    const length = text.length / averageLength;
    return occurrenceCount / (occurrenceCount + 1.2 * (0.25 + 0.75 * length));
  };
}

function counterOf(leaf: TextLeaf): (text: string) => number {
  if (leaf.kind === 'wildcard') {
    const pattern = RE2JS.compile(wildcardPattern(leaf.parts));
    return (text) => (pattern.test(text) ? 1 : 0);
  }
  const foldedTerms = leaf.terms.map(foldText);
  if (leaf.kind === 'phrase') return (text) => countPhrase(text, foldedTerms);
  return (text) => foldedTerms.reduce((sum, word) => sum + countPhrase(text, [word]), 0);
}
