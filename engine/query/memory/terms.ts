import { foldTerm } from '../../text/fold.js';
import type { TextQuery } from '../../text/column-matcher.js';
import { conditionsIn, type OfKind, type Predicate } from '../predicate/predicate.js';

/** A condition on the terms of a field. */
export type TermCondition = OfKind<'terms' | 'phrase'>;

/** Returns a predicate's conditions on terms of `text` fields, which the memory executor looks up in the text index. */
export function termConditions(predicate: Predicate): readonly TermCondition[] {
  return conditionsIn(predicate).flatMap((condition) =>
    (condition.kind === 'terms' || condition.kind === 'phrase') && condition.field.type === 'text'
      ? [condition]
      : [],
  );
}

/** Converts a condition to the form that the text index accepts. */
export function toTextQuery({ kind, terms }: TermCondition): TextQuery {
  return { kind, terms: terms.map(foldTerm) };
}
