import { Ranking, type RankedPage, type RankedRow } from '../../text/ranking.js';
import { constantHits, scoresByRow } from '../text/clause-scores.js';
import type { RankedClause } from '../text/relevance.js';
import type { Predicate } from '../predicate/predicate.js';
import { isSparse, type SelectionVector } from './match/selection-vector.js';

/** What ranks the matching rows, where no condition is on a text. Both lists hold the same objects. */
export interface Relevance {
  /** The conditions in the clauses. */
  readonly conditions: readonly Predicate[];
  readonly clauses: readonly RankedClause[];
  /** As in `clausesOf`. */
  readonly tier: number;
  readonly page: RankedPage;
}

/**
 * Finds the rows of a page in order of relevance. Rows that satisfy the same conditions have the same score, so that a score is computed
 * for each such set of conditions, not for each row. Segments have to be added in ascending order.
 */
export class RankedRows {
  readonly #relevance: Relevance;
  readonly #ranking: Ranking;

  constructor(relevance: Relevance) {
    this.#relevance = relevance;
    this.#ranking = new Ranking(relevance.page);
  }

  /** Adds the matching rows of a segment with `rows` rows; `satisfying` has, for each condition, the rows that satisfy it. */
  add(
    segment: number,
    rows: number,
    matching: SelectionVector,
    satisfying: readonly SelectionVector[],
  ): void {
    const { sets, setOf } = setsOfConditions(rows, satisfying);
    const scores = this.#scores(sets);
    const ranking = this.#ranking;
    ranking.begin(segment);
    if (matching === 'none') return;
    if (matching !== 'all' && isSparse(matching)) {
      for (const row of matching) ranking.add(row, scores[setOf[row]!]!);
    } else {
      for (let row = 0; row < rows; row++)
        if (matching === 'all' || matching[row] === 1) ranking.add(row, scores[setOf[row]!]!);
    }
  }

  page(): readonly RankedRow[] {
    return this.#ranking.rowsAsAdded();
  }

  /** The score of each set: the scores of rows of which row i satisfies the conditions of set i. */
  #scores(sets: readonly (readonly number[])[]): Float64Array {
    const { conditions, clauses, tier } = this.#relevance;
    const members = conditions.map((): number[] => []);
    for (const [i, set] of sets.entries()) for (const condition of set) members[condition]!.push(i);
    const found = new Map(conditions.map((each, i) => [each, constantHits(Int32Array.from(members[i]!))])); // prettier-ignore
    return scoresByRow(clauses, tier, found, Int32Array.from(sets.keys()));
  }
}

/** The sets of conditions that rows satisfy, as indices of the conditions, and the index of the set of each row. */
function setsOfConditions(
  rows: number,
  satisfying: readonly SelectionVector[],
): { readonly sets: readonly (readonly number[])[]; readonly setOf: Int32Array } {
  const sets: (readonly number[])[] = [[]];
  const setOf = new Int32Array(rows);
  for (const [condition, selection] of satisfying.entries()) {
    if (selection === 'none') continue;
    /** The set that has this condition besides those of the set with the index. */
    const extended = new Map<number, number>();
    const extend = (row: number): void => {
      const old = setOf[row]!;
      let set = extended.get(old);
      if (set === undefined) {
        set = sets.push([...sets[old]!, condition]) - 1;
        extended.set(old, set);
      }
      setOf[row] = set;
    };
    if (selection !== 'all' && isSparse(selection)) selection.forEach(extend);
    else
      for (let row = 0; row < rows; row++)
        if (selection === 'all' || selection[row] === 1) extend(row);
  }
  return { sets, setOf };
}
