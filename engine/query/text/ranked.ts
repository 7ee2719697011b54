import type { Columns } from '../../core/types.js';
import { noWeight } from '../../text/bm25.js';
import type { Snapshot } from '../../store/store.js';
import { foldTerm } from '../../text/fold.js';
import type { TextQuery } from '../../text/column-matcher.js';
import type { RankedRow } from '../../text/ranking.js';
import type { RankedPhrase } from '../../text/ranked-search.js';
import { textQueryOf } from '../memory/terms.js';
import type { SelectedRows, Selection } from '../plan/executor.js';
import type { Position } from '../plan/position.js';
import { all, and, none, not, or, type FieldRef, type Predicate, type ScoreTerm } from '../predicate/predicate.js'; // prettier-ignore
import { isOfText, leavesOf, type Leaf } from './relevance.js';
import { isIndexable } from './text-field.js';

/** A query about the terms of one field, in the form that the text index answers. */
export interface OneFieldQuery {
  readonly field: FieldRef;
  readonly query: TextQuery;
  readonly phrases: readonly (Omit<RankedPhrase, 'weight'> & { readonly leaf: Leaf })[];
}

/** The selection without the conditions that no record satisfies, as the weights of its scores tell. */
export function withoutUnsatisfied<S extends Pick<Selection, 'predicate' | 'scores'>>(
  selection: S,
): S {
  const unsatisfied = new Set<Predicate>(
    selection.scores.flatMap(({ item, weights }) =>
      leavesOf(item).filter((leaf) => weights?.get(leaf) === noWeight),
    ),
  );
  const rest = (item: Predicate, ranks: boolean): Predicate => {
    switch (item.kind) {
      case 'or':
        return or(item.items.map((each) => rest(each, ranks)).filter(({ kind }) => kind !== 'none')); // prettier-ignore
      case 'and': {
        // Each of its conditions ranks, also where not all of them are satisfied.
        if (ranks) return item;
        const items = item.items.map((each) => rest(each, false));
        return items.includes(none) ? none : and(items);
      }
      case 'not': {
        const other = rest(item.item, false);
        return other.kind === 'none' ? all : not(other);
      }
      default:
        return unsatisfied.has(item) ? none : item;
    }
  };
  const scores = selection.scores.map((score) => ({ ...score, item: rest(score.item, true) }));
  return { ...selection, predicate: rest(selection.predicate, false), scores };
}

/** True if all ranking conditions are terms or phrases of indexed fields, or conditions on fields that are not texts. */
export function isRankedByTerms(scores: readonly ScoreTerm[], columns: Columns): boolean {
  return scores
    .flatMap(({ item }) => atomsOf(item))
    .filter(isOfText)
    .every((atom) => isScoredAlike(atom as Leaf) && isIndexable(columns, (atom as Leaf).field));
}

/** The conditions in ranking clauses that are not on terms of texts. */
export function sidePredicates(scores: readonly ScoreTerm[]): readonly Predicate[] {
  const atoms = scores.flatMap(({ item }) => atomsOf(item));
  return [...new Set(atoms.filter((atom) => !isOfText(atom)))];
}

/** The conditions of a clause, without AND and OR. */
function atomsOf(item: Predicate): readonly Predicate[] {
  return item.kind === 'or' || item.kind === 'and' ? item.items.flatMap(atomsOf) : [item];
}

/** True if the text index computes the same score as SQL, which scores several terms in any order as a phrase. */
function isScoredAlike(leaf: Leaf): boolean {
  return leaf.kind === 'phrase' || (leaf.kind === 'terms' && leaf.terms.length === 1);
}

/** The rows of a ranked page, and the position after the last row. */
export function rankedPage(rows: readonly RankedRow[]): Pick<SelectedRows, 'rows' | 'position'> {
  const last = rows.at(-1);
  return {
    rows: rows.map(({ segment, row }) => [segment, row] as const),
    position: last && { keys: [last.score], file: last.segment + 1, row: BigInt(last.row) },
  };
}

/** The row of a ranking at a position. */
export function rankOf({ keys, file, row }: Position): RankedRow {
  return { score: Number(keys[0]), segment: file - 1, row: Number(row) };
}

/** The query of the text index that answers a selection; undefined if there is none, or rows are deleted, which the index counts. */
export function oneFieldQuery(
  { predicate, scores }: Pick<Selection, 'predicate' | 'scores'>,
  { columns, segments }: Pick<Snapshot, 'columns' | 'segments'>,
): OneFieldQuery | undefined {
  if (segments.some(({ deletion }) => deletion !== undefined)) return undefined;
  const fields = new Set<string>();
  const query = queryOf(predicate, fields);
  const phrases = scores
    .filter(({ item }) => item.kind !== 'none')
    .map((score) => phraseOf(score, fields));
  if (query === undefined || phrases.includes(undefined) || fields.size !== 1) return undefined;
  const field = fieldOf(predicate);
  if (field === undefined || !isIndexable(columns, field)) return undefined;
  const ranking = (phrases as OneFieldQuery['phrases']).filter(({ boost }) => boost > 0);
  return ranking.length === 0 ? undefined : { field, query, phrases: ranking };
}

/** The predicate as a query of the text index; undefined if it has other conditions than terms and phrases. Adds its fields to `fields`. */
function queryOf(predicate: Predicate, fields: Set<string>): TextQuery | undefined {
  switch (predicate.kind) {
    case 'terms':
    case 'phrase':
      fields.add(predicate.field.path.join('\n'));
      return textQueryOf(predicate);
    case 'or': {
      const items = predicate.items.map((item) => queryOf(item, fields));
      return items.includes(undefined) ? undefined : { kind: 'or', items: items as TextQuery[] };
    }
    case 'and': {
      const isNot = (item: Predicate): boolean => item.kind === 'not';
      const items = predicate.items
        .filter((item) => !isNot(item))
        .map((item) => queryOf(item, fields));
      const otherItems = predicate.items
        .filter(isNot)
        .map((item) => (item.kind === 'not' ? queryOf(item.item, fields) : undefined));
      // A negation alone matches records without a text, which are not in the index.
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

function phraseOf(
  { item, boost }: Selection['scores'][number],
  fields: Set<string>,
): OneFieldQuery['phrases'][number] | undefined {
  if (item.kind !== 'terms' && item.kind !== 'phrase') return undefined;
  if (item.kind === 'terms' && item.terms.length !== 1) return undefined;
  fields.add(item.field.path.join('\n'));
  return { leaf: item, terms: item.terms.map(foldTerm), boost };
}

function fieldOf(predicate: Predicate): FieldRef | undefined {
  if (predicate.kind === 'terms' || predicate.kind === 'phrase') return predicate.field;
  if (predicate.kind !== 'and' && predicate.kind !== 'or') return undefined;
  for (const item of predicate.items) {
    const field = fieldOf(item);
    if (field !== undefined) return field;
  }
  return undefined;
}
