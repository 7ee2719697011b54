import type { Columns } from '../../core/types.js';
import { noWeight } from '../../text/bm25.js';
import type { Snapshot } from '../../store/store.js';
import type { FoldedTerms, TextQuery } from '../../text/column-matcher.js';
import type { RankedRow } from '../../text/ranking.js';
import type { SelectedRows, Selection } from '../executor/executor.js';
import type { Position } from '../request/position.js';
import { all, and, isScoredCondition, none, not, operandsOf, or, type FieldRef, type Predicate, type ScoreClause, type ScoredCondition } from '../predicate/predicate.js'; // prettier-ignore
import { toTextQuery } from '../predicate/text-patterns.js';
import { isTextCondition, scoredConditionsOf } from '../text/relevance.js';
import { isIndexable } from '../text/text-field.js';

/** A query about the terms of one field, in the form that the text index answers. */
interface OneFieldQuery {
  readonly field: FieldRef;
  readonly query: TextQuery;
  readonly phrases: readonly {
    readonly leaf: ScoredCondition;
    readonly phrase: FoldedTerms;
    readonly boost: number;
  }[];
}

/**
 * Returns the selection without the conditions that, according to the weights of its scores, no record satisfies; ANDs in the scores keep
 * all their conditions.
 */
export function withoutUnsatisfiedConditions<
  S extends Pick<Selection, 'predicate' | 'scoreClauses'>,
>(selection: S): S {
  const unsatisfied = new Set<Predicate>(
    selection.scoreClauses.flatMap(({ item, weights }) =>
      scoredConditionsOf(item).filter((leaf) => weights?.get(leaf) === noWeight),
    ),
  );
  const withoutUnsatisfied = (item: Predicate, ranks: boolean): Predicate => {
    switch (item.kind) {
      case 'or':
        return or(item.items.map((each) => withoutUnsatisfied(each, ranks)).filter(({ kind }) => kind !== 'none')); // prettier-ignore
      case 'and': {
        // Inside a ranking clause, every condition contributes to the score even if the AND as a whole is not satisfied, so none is
        // removed.
        if (ranks) return item;
        const items = item.items.map((each) => withoutUnsatisfied(each, false));
        return items.includes(none) ? none : and(items);
      }
      case 'not': {
        const negatedItem = withoutUnsatisfied(item.item, false);
        return negatedItem.kind === 'none' ? all : not(negatedItem);
      }
      default:
        return unsatisfied.has(item) ? none : item;
    }
  };
  const scoreClauses = selection.scoreClauses.map((score) => ({
    ...score,
    item: withoutUnsatisfied(score.item, true),
  }));
  return { ...selection, predicate: withoutUnsatisfied(selection.predicate, false), scoreClauses };
}

/** Returns true if all ranking conditions on texts are on indexable fields and have the same score in the index (`hasSameScoreInIndex`). */
export function isRankedByTerms(scoreClauses: readonly ScoreClause[], columns: Columns): boolean {
  return scoreClauses
    .flatMap(({ item }) => operandsOf(item))
    .filter(isTextCondition)
    .every(
      (atom) =>
        hasSameScoreInIndex(atom as ScoredCondition) &&
        isIndexable(columns, (atom as ScoredCondition).field),
    );
}

/** Returns the conditions in score clauses other than scored conditions on text fields. A negation counts as one condition. */
export function sidePredicates(scoreClauses: readonly ScoreClause[]): readonly Predicate[] {
  const atoms = scoreClauses.flatMap(({ item }) => operandsOf(item));
  return [...new Set(atoms.filter((atom) => !isTextCondition(atom)))];
}

/** Returns true if the text index computes the same score as SQL, which scores several terms in any order as a phrase. */
function hasSameScoreInIndex(leaf: ScoredCondition): boolean {
  return leaf.kind === 'terms' ? leaf.terms.length === 1 : toTextQuery(leaf) !== undefined;
}

/** Returns the rows of a ranked page, and the cursor position after the last row. */
export function rowsOfRankedPage(
  rows: readonly RankedRow[],
): Pick<SelectedRows, 'rows' | 'position'> {
  const last = rows.at(-1);
  return {
    rows: rows.map(({ segment, row }) => [segment, row] as const),
    position: last && { keys: [last.score], file: last.segment + 1, row: BigInt(last.row) },
  };
}

/** Returns the ranked row at a cursor position. */
export function rankedRowAtPosition({ keys, file, row }: Position): RankedRow {
  return { score: Number(keys[0]), segment: file - 1, row: Number(row) };
}

/**
 * Returns the query of the text index that answers a selection. Undefined if there is none, or if rows are deleted, because the index
 * counts deleted rows, too.
 */
export function oneFieldQuery(
  { predicate, scoreClauses }: Pick<Selection, 'predicate' | 'scoreClauses'>,
  { columns, segments }: Pick<Snapshot, 'columns' | 'segments'>,
): OneFieldQuery | undefined {
  if (segments.some(({ deletion }) => deletion !== undefined)) return undefined;
  const fields = new Set<string>();
  const query = textIndexQuery(predicate, fields);
  const phrases = scoreClauses
    .filter(({ item }) => item.kind !== 'none')
    .map((score) => rankedPhraseOf(score, fields));
  if (query === undefined || phrases.includes(undefined) || fields.size !== 1) return undefined;
  const [field] = scoredConditionsOf(predicate).map((condition) => condition.field);
  if (field === undefined || !isIndexable(columns, field)) return undefined;
  const ranking = (phrases as OneFieldQuery['phrases']).filter(({ boost }) => boost > 0);
  return ranking.length === 0 ? undefined : { field, query, phrases: ranking };
}

/**
 * Returns the predicate as a query of the text index; undefined if it has conditions that `toTextQuery` does not accept, or a negation that
 * no condition accompanies. Adds the predicate's fields to `fields`.
 */
function textIndexQuery(predicate: Predicate, fields: Set<string>): TextQuery | undefined {
  if (isScoredCondition(predicate)) {
    fields.add(predicate.field.path.join('\n'));
    return toTextQuery(predicate);
  }
  switch (predicate.kind) {
    case 'or': {
      const items = predicate.items.map((item) => textIndexQuery(item, fields));
      return items.includes(undefined) ? undefined : { kind: 'or', items: items as TextQuery[] };
    }
    case 'and': {
      const isNot = (item: Predicate): boolean => item.kind === 'not';
      const items = predicate.items
        .filter((item) => !isNot(item))
        .map((item) => textIndexQuery(item, fields));
      const otherItems = predicate.items
        .filter(isNot)
        .map((item) => (item.kind === 'not' ? textIndexQuery(item.item, fields) : undefined));
      // A negation alone also matches records without a text, which are not in the index.
      if (items.length === 0 || items.includes(undefined) || otherItems.includes(undefined)) {
        return undefined;
      }
      const item: TextQuery = { kind: 'and', items: items as TextQuery[] };
      if (otherItems.length === 0) return item;
      return { kind: 'without', item, other: { kind: 'or', items: otherItems as TextQuery[] } };
    }
    default:
      return undefined;
  }
}

function rankedPhraseOf(
  { item, boost }: Selection['scoreClauses'][number],
  fields: Set<string>,
): OneFieldQuery['phrases'][number] | undefined {
  if (!isScoredCondition(item) || !hasSameScoreInIndex(item)) return undefined;
  fields.add(item.field.path.join('\n'));
  return { leaf: item, phrase: toTextQuery(item)!, boost };
}
