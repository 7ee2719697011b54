import { bm25, type Bm25Weight } from '../../text/bm25.js';
import type { ColumnMatcher, FoldedTerms } from '../../text/column-matcher.js';
import { Ranking, type RankedPage, type RankedRow } from '../../text/ranking.js';
import { unsupportedPattern } from '../predicate/kinds/indexed-terms.js';
import { toTextQuery } from '../predicate/text-patterns.js';
import type { Predicate, ScoredCondition } from '../predicate/predicate.js';
import { isTextCondition, type RankedClause } from '../text/relevance.js';
import { unsupportedAcrossValues } from '../text/text-field.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import { competitiveRows, constantHits, maxScore, noHits, scoresByRow, type LeafHits } from './clause-scores.js'; // prettier-ignore
import type { SegmentView } from './match/column.js';
import { isSparse, rowNumbers, type SelectionVector } from './match/selection-vector.js';

/**
 * The conditions that rank the matching rows. A condition that is in several of the lists is the same object in each, so that conditions
 * can be compared by identity.
 */
export interface Relevance {
  /** The conditions of the clauses other than scored conditions on text fields (`sidePredicates`). */
  readonly conditions: readonly Predicate[];
  readonly clauses: readonly RankedClause[];
  /** The tier of a clause, as in `rankingClausesAndTier`: what a clause adds to the score of records that satisfy it. */
  readonly tier: number;
  readonly page: RankedPage;
}

/**
 * Finds the rows of a page in order of relevance. Without conditions on texts, rows that satisfy the same set of conditions have the same
 * score, so a score is computed once per set, not once per row. Segments must be added in ascending order.
 */
export class RankedRows {
  readonly #relevance: Relevance;
  readonly #ranking: Ranking;
  readonly #textConditions: readonly (readonly [ScoredCondition, Bm25Weight])[];

  constructor(relevance: Relevance) {
    this.#relevance = relevance;
    this.#ranking = new Ranking(relevance.page);
    const leaves = relevance.clauses.flatMap((clause) => clause.leaves);
    this.#textConditions = leaves.filter(([leaf]) => isTextCondition(leaf));
  }

  /**
   * Adds the matching rows of a segment; `satisfying` has, for each of `Relevance.conditions`, the rows that satisfy it. Returns a reason
   * if the segment lacks the index of a text field that ranks, or if the index cannot answer a condition.
   */
  add(
    segment: number,
    view: SegmentView,
    matching: SelectionVector,
    satisfying: readonly SelectionVector[],
  ): Unsupported | undefined {
    this.#ranking.beginSegment(segment);
    if (matching === 'none') return undefined;
    if (this.#textConditions.length > 0) return this.#addTexts(view, matching, satisfying);
    const { rows } = view;
    const { sets, setOf } = satisfiedConditionSets(rows, satisfying);
    const scores = this.#scores(sets);
    const ranking = this.#ranking;
    if (matching !== 'all' && isSparse(matching)) {
      for (const row of matching) ranking.add(row, scores[setOf[row]!]!);
    } else {
      for (let row = 0; row < rows; row++)
        if (matching === 'all' || matching[row] === 1) ranking.add(row, scores[setOf[row]!]!);
    }
    return undefined;
  }

  #addTexts(
    view: SegmentView,
    matching: SelectionVector,
    satisfying: readonly SelectionVector[],
  ): Unsupported | undefined {
    const { conditions, clauses, tier } = this.#relevance;
    const ranking = this.#ranking;
    const hitsByCondition = new Map<Predicate, LeafHits>();
    for (const [i, condition] of conditions.entries())
      hitsByCondition.set(condition, constantHits(rowNumbers(satisfying[i]!, view.rows)));
    for (const [leaf, weight] of this.#textConditions) {
      const text = view.text!(leaf.field);
      if (isUnsupported(text)) return text;
      if (text === 'absent') {
        hitsByCondition.set(leaf, noHits);
        continue;
      }
      const phrase = toTextQuery(leaf)!;
      const unsupported = unsupportedPattern(leaf.field, text, [phrase]);
      if (unsupported) return unsupported;
      if (text.mayCrossValues(phrase)) return unsupportedAcrossValues(leaf.field);
      hitsByCondition.set(leaf, phraseHits(text, phrase, weight));
    }
    // Once the page is full, a segment whose best score is too low is skipped.
    if (!ranking.wants(maxScore(clauses, tier, hitsByCondition))) return undefined;
    const rows = competitiveRows(matching, view.rows, clauses, tier, hitsByCondition, ranking) ?? rowNumbers(matching, view.rows); // prettier-ignore
    const scores = scoresByRow(clauses, tier, hitsByCondition, rows);
    for (let i = 0; i < rows.length; i++) ranking.add(rows[i]!, scores[i]!);
    return undefined;
  }

  page(): readonly RankedRow[] {
    return this.#ranking.rankedRows();
  }

  /** Returns the score of each set of conditions, computed for rows of which row i satisfies exactly set i. */
  #scores(sets: readonly (readonly number[])[]): Float64Array {
    const { conditions, clauses, tier } = this.#relevance;
    const members = conditions.map((): number[] => []);
    for (const [i, set] of sets.entries()) for (const condition of set) members[condition]!.push(i);
    const hitsByCondition = new Map(conditions.map((each, i) => [each, constantHits(Int32Array.from(members[i]!))])); // prettier-ignore
    return scoresByRow(clauses, tier, hitsByCondition, Int32Array.from(sets.keys()));
  }
}

/** Returns the texts of a segment that contain a phrase, with their BM25 scores. */
function phraseHits(matcher: ColumnMatcher, phrase: FoldedTerms, weight: Bm25Weight): LeafHits {
  const { column } = matcher;
  const { texts, times } = matcher.hits(phrase);
  if (texts.length === 0) return noHits;
  const { lengths } = column.texts();
  const scores = new Float64Array(texts.length);
  let greatestScore = 0;
  for (let i = 0; i < texts.length; i++) {
    const score = bm25(weight, times[i]!, lengths[texts[i]!]!);
    scores[i] = score;
    if (score > greatestScore) greatestScore = score;
  }
  const textOf = column.sharesTexts ? column.textOfRows() : undefined;
  return { texts, scores, greatestScore, textOf, isUnweighted: false };
}

/** Returns the distinct sets of conditions that rows satisfy, as indices of the conditions, and for each row the index of its set. */
function satisfiedConditionSets(
  rows: number,
  satisfying: readonly SelectionVector[],
): { readonly sets: readonly (readonly number[])[]; readonly setOf: Int32Array } {
  const sets: (readonly number[])[] = [[]];
  const setOf = new Int32Array(rows);
  for (const [condition, selection] of satisfying.entries()) {
    if (selection === 'none') continue;
    /** Maps each set of conditions to the set that also contains the current condition. */
    const extended = new Map<number, number>();
    const extend = (row: number): void => {
      const oldSet = setOf[row]!;
      let newSet = extended.get(oldSet);
      if (newSet === undefined) {
        newSet = sets.push([...sets[oldSet]!, condition]) - 1;
        extended.set(oldSet, newSet);
      }
      setOf[row] = newSet;
    };
    if (selection !== 'all' && isSparse(selection)) selection.forEach(extend);
    else
      for (let row = 0; row < rows; row++)
        if (selection === 'all' || selection[row] === 1) extend(row);
  }
  return { sets, setOf };
}
