import { RE2JS } from 're2js';
import { foldText } from '../text/fold.js';
import { wildcardPattern } from '../query/predicate/patterns.js';
import { countPhrase } from '../query/predicate/plain-values.js';
import type { Predicate, Score } from '../query/predicate/predicate.js';
import { documentField, type SearchDocument } from './document.js';
import { matcherOf } from './matches.js';

/** How well a document answers; the larger, the better. */
export type Rank = (document: SearchDocument) => number;

/** Characters of a usual text: what BM25 calls the average length. */
const usualLength = 60;

/**
 * The relevance of a document, as datasets have it (query language 4.4); undefined if nothing ranks. Each clause that is satisfied
 * counts 1, and less than 1 more for how often a text holds the words and how short it is, by BM25's saturation (k1 1.2, b 0.75);
 * what satisfies more clauses comes first. Choice: here names and paths are texts too, so a name of a few words comes before
 * a long path.
 */
export function rankOf(scores: readonly Score[]): Rank | undefined {
  const parts = scores
    .filter(({ boost }) => boost > 0)
    .map((score) => partOf(score, scores.length));
  if (parts.length === 0) return undefined;
  return (document) => parts.reduce((sum, part) => sum + part(document), 0);
}

function partOf({ item, boost }: Score, clauses: number): Rank {
  const closeness = leavesOf(item).map(closenessOf);
  const share = closeness.length === 0 ? 0 : 1 / (clauses * closeness.length);
  // Where words are all that is asked for, it is satisfied if some were counted.
  const matches = isOfWords(item) ? undefined : matcherOf(item);
  return (document) => {
    const sum = closeness.reduce((found, of) => found + of(document), 0);
    const isSatisfied = matches ? matches(document) : sum > 0;
    return isSatisfied ? boost * (1 + share * sum) : 0;
  };
}

function isOfWords(item: Predicate): boolean {
  return item.kind === 'or'
    ? item.items.every(isOfWords)
    : item.kind === 'phrase' || item.kind === 'wildcard';
}

type TextLeaf = Extract<Predicate, { kind: 'words' | 'phrase' | 'wildcard' }>;

/** A clause that names no field is one leaf for each of them. */
function leavesOf(item: Predicate): readonly TextLeaf[] {
  if (item.kind === 'or' || item.kind === 'and') return item.items.flatMap(leavesOf);
  return item.kind === 'words' || item.kind === 'phrase' || item.kind === 'wildcard' ? [item] : [];
}

/** From 0 to 1. */
function closenessOf(leaf: TextLeaf): Rank {
  const { read } = documentField(leaf.field.name);
  const count = counterOf(leaf);
  return (document) => {
    const value = read(document);
    if (value === null) return 0;
    const text = typeof value === 'object' ? value.join(' ') : String(value);
    const times = count(text);
    if (times === 0) return 0;
    const length = text.length / usualLength;
    return times / (times + 1.2 * (0.25 + 0.75 * length));
  };
}

function counterOf(leaf: TextLeaf): (text: string) => number {
  if (leaf.kind === 'wildcard') {
    const pattern = RE2JS.compile(wildcardPattern(leaf.parts));
    return (text) => (pattern.test(text) ? 1 : 0);
  }
  const wanted = leaf.words.map(foldText);
  if (leaf.kind === 'phrase') return (text) => countPhrase(text, wanted);
  return (text) => wanted.reduce((sum, word) => sum + countPhrase(text, [word]), 0);
}
