import type { Columns } from '../../core/types.js';
import type { Snapshot } from '../../store/store.js';
import { bm25, type Bm25Weight } from '../../text/bm25.js';
import { foldTerm } from '../../text/fold.js';
import type { ColumnMatcher } from '../../text/column-matcher.js';
import { Ranking, type RankedPage, type RankedRow } from '../../text/ranking.js';
import type { TextField, TimeSlice } from '../../text/ranked-search.js';
import {
  competitiveRows,
  constantHits,
  maxScore,
  noHits,
  numbersOf,
  scoresByRow,
  type LeafHits,
} from './clause-scores.js';
import type { SegmentRows } from '../plan/executor.js';
import type { Unsupported } from '../unsupported.js';
import { fieldKey, type Predicate, type ScoreTerm } from '../predicate/predicate.js';
import { clausesOf, leavesOf, type Leaf } from './relevance.js';
import { isIndexable } from './text-field.js';
import { weightsByIndex, textFields } from './weigh.js';

/** True if only terms and phrases of indexed fields, and conditions on fields that are not texts, rank. */
export function isRankedByTerms(scores: readonly ScoreTerm[], columns: Columns): boolean {
  return scores
    .flatMap(({ item }) => atomsOf(item))
    .filter(isOfText)
    .every((leaf) => isScoredAlike(leaf) && isIndexable(columns, leaf.field));
}

/** True if no condition on a text ranks: records that satisfy the same conditions then have the same score. */
export function isRankedByConditions(scores: readonly ScoreTerm[]): boolean {
  return !scores.some(({ item }) => atomsOf(item).some(isOfText));
}

/** The conditions in ranking clauses that are not on terms of texts. An executor evaluates them. */
export function sidePredicates(scores: readonly ScoreTerm[]): readonly Predicate[] {
  const atoms = scores.flatMap(({ item }) => atomsOf(item));
  return [...new Set(atoms.filter((atom) => !isOfText(atom)))];
}

/**
 * Ranks matching rows by the text index, with exactly the scores of `relevance` (relevance.ts); equal scores are in insertion
 * order.
 */
export class ListedRanking {
  readonly #fields: ReadonlyMap<string, TextField>;
  readonly #scores: readonly ScoreTerm[];
  readonly #sides: readonly Predicate[];

  private constructor(fields: ReadonlyMap<string, TextField>, scores: readonly ScoreTerm[]) {
    this.#fields = fields;
    this.#scores = scores;
    this.#sides = sidePredicates(scores);
  }

  /** Opens the indexes of the fields that rank; unsupported if a segment has none. */
  static async open(
    snapshot: Snapshot,
    scores: readonly ScoreTerm[],
  ): Promise<ListedRanking | Unsupported> {
    const terms = scores.flatMap(({ item }) => atomsOf(item)).filter(isOfText);
    const fields = await textFields(snapshot, terms);
    const missing = terms.find((leaf) => !fields.has(fieldKey(leaf.field)));
    return missing
      ? { unsupported: `a segment has no text index of ${missing.field.name}` }
      : new ListedRanking(fields, scores);
  }

  /** A page of the listed rows; `plain` has the weights of conditions on fields that are not texts. */
  async page(
    plain: ReadonlyMap<Leaf, Bm25Weight>,
    listed: readonly SegmentRows[],
    snapshot: Snapshot,
    page: RankedPage,
    slice: TimeSlice,
  ): Promise<readonly RankedRow[]> {
    const leaves = this.#scores.flatMap(({ item }) => leavesOf(item));
    const weights = new Map([...plain, ...(await weightsByIndex(leaves, this.#fields, slice))]);
    const { clauses, tier } = clausesOf(this.#scores.map((score) => ({ ...score, weights })));
    const ranking = new Ranking(page);
    for (const { segment, rows, sides } of listed) {
      const { rows: count } = snapshot.segments[segment]!;
      const found = new Map<Predicate, LeafHits>();
      for (const [i, side] of this.#sides.entries())
        found.set(side, constantHits(numbersOf(sides![i]!, count)));
      for (const [leaf, weight] of clauses.flatMap(({ leaves: own }) => own)) {
        if (!isOfText(leaf)) continue;
        const { matchers } = this.#fields.get(fieldKey(leaf.field))!;
        found.set(leaf, await hitsOf(matchers[segment], leaf, weight));
        await slice.yieldIfOver();
      }
      for (const { matchers } of this.#fields.values()) matchers[segment]?.forget();
      ranking.begin(segment);
      // Once the page is full of better rows, most segments are skipped.
      if (!ranking.wants(maxScore(clauses, tier, found))) continue;
      const numbers = competitiveRows(rows, clauses, found, ranking) ?? numbersOf(rows, count);
      const scores = scoresByRow(clauses, tier, found, numbers);
      for (let i = 0; i < numbers.length; i++) ranking.add(numbers[i]!, scores[i]!);
    }
    return ranking.rows((_, rows) => Promise.resolve(rows));
  }
}

/** The conditions of a clause, without AND and OR. */
function atomsOf(item: Predicate): readonly Predicate[] {
  return item.kind === 'or' || item.kind === 'and' ? item.items.flatMap(atomsOf) : [item];
}

function isOfText(item: Predicate): item is Leaf {
  return leavesOf(item).some(({ field }) => field.type === 'text');
}

/** True if the text index computes the score that SQL does; SQL scores several terms in any order as a phrase. */
function isScoredAlike(leaf: Leaf): boolean {
  return leaf.kind === 'phrase' || (leaf.kind === 'terms' && leaf.terms.length === 1);
}

/** The texts of a segment with the terms of a condition, and their BM25 scores. */
async function hitsOf(
  matcher: ColumnMatcher | undefined,
  leaf: Leaf,
  weight: Bm25Weight,
): Promise<LeafHits> {
  if (matcher === undefined || leaf.kind === 'wildcard') return noHits;
  const { column } = matcher;
  const { texts, times } = await matcher.hits({ kind: 'phrase', terms: leaf.terms.map(foldTerm) });
  if (texts.length === 0) return noHits;
  const { lengths } = await column.texts();
  const scores = new Float64Array(texts.length);
  let most = 0;
  for (let i = 0; i < texts.length; i++) {
    const score = bm25(weight, times[i]!, lengths[texts[i]!]!);
    scores[i] = score;
    if (score > most) most = score;
  }
  const textOf = column.summary.isShared ? await column.textOfRows() : undefined;
  return { texts, scores, most, textOf, isUnweighted: false };
}
