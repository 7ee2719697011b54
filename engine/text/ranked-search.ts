import { compareBytes } from './bytes.js';
import { bm25, type Bm25Weight } from './bm25.js';
import type { ColumnMatcher, FoldedTerms, TextQuery } from './column-matcher.js';
import type { ScoreFunction } from './postings.js';
import { Ranking, scoresByText, type RankedPage, type RankedRow } from './ranking.js';

/** A phrase that raises the score of the texts that contain it, in proportion to `boost`. */
interface RankedPhrase extends FoldedTerms {
  readonly boost: number;
  /** The weight of the phrase, which depends on the number of records that contain it. */
  readonly weight: Bm25Weight;
}

/** A query about the texts of one field. */
export interface TextSearch {
  readonly query: TextQuery;
  readonly phrases: readonly RankedPhrase[];
  /** The constant that is added to the BM25 of each phrase that a text contains, before the boost multiplies the sum (`clauseTierOf`). */
  readonly tier: number;
  readonly page: RankedPage;
}

/** A segment that has texts of the searched field, and its number. */
export interface SearchedSegment {
  readonly number: number;
  /**
   * Returns the matcher of the segment. It is called again when the rows of the page are read, because the search may have been interrupted
   * in between.
   */
  readonly matcher: () => ColumnMatcher;
}

/** A page of matches, by descending score and then in insertion order, and the number of all matches. */
export interface RankedTexts {
  readonly rows: readonly RankedRow[];
  readonly total: number;
}

/** Searches segments, in ascending order of their numbers, and yields after each one. */
export function* searchRanked(
  segments: readonly SearchedSegment[],
  { query, phrases, tier, page }: TextSearch,
): Generator<void, RankedTexts> {
  const scores = phrases.map(
    ({ boost, weight }): ScoreFunction =>
      (times, words) =>
        boost * (tier + bm25(weight, times, words)),
  );
  const ranking = new Ranking(page);
  const matchers = new Map(segments.map(({ number, matcher }) => [number, matcher]));
  const term = singleTermOf(query, phrases);
  let total = 0;
  for (const [number, open] of matchers) {
    const matcher = open();
    // In lists, postings refer to single values, not to rows.
    if (term === undefined || matcher.column.isList) {
      const texts = matcher.matchingTexts(query);
      total += matcher.countRowsOfTexts(texts);
      if (page.limit > 0 && texts.length > 0) {
        const table = matcher.column.texts();
        const clauses = phrases.map((phrase, i) => ({
          hits: matcher.hits(phrase),
          score: scores[i]!,
        }));
        const sums = scoresByText(texts, clauses, table);
        ranking.beginSegment(number, table);
        for (let at = 0; at < texts.length; at++) ranking.add(texts[at]!, sums[at]!);
      }
    } else {
      // The total comes from the entry of the term, and once the page is full, most blocks are skipped: 1 ms instead of 40 for a term with
      // 860,000 texts.
      const entry = matcher.termEntry(term);
      total += entry?.rows ?? 0;
      if (page.limit > 0 && entry !== undefined) matcher.column.rankTextsWithTerm(entry, number, scores[0]!, ranking); // prettier-ignore
    }
    yield;
  }
  const rows = ranking.rankedRows((number, texts) => matchers.get(number)!().column.rowsOf(texts));
  return { rows, total };
}

/** Returns the term if query and ranking consist of the same single term; undefined otherwise. */
function singleTermOf(query: TextQuery, phrases: readonly RankedPhrase[]): Uint8Array | undefined {
  if (query.kind === 'and' || query.kind === 'or')
    return query.items.length === 1 ? singleTermOf(query.items[0]!, phrases) : undefined;
  if (!('terms' in query) || query.terms.length !== 1 || phrases.length !== 1) return undefined;
  const [term] = query.terms;
  const [{ terms }] = phrases as [RankedPhrase];
  return terms.length === 1 && compareBytes(terms[0]!, term!) === 0 ? term : undefined;
}
