import { foldTerm } from '../../text/fold.js';
import type { TextQuery } from '../../text/column-matcher.js';
import { conditionsIn, type OfKind, type Predicate } from '../predicate/predicate.js';

/** A condition on the terms of a field. */
export type TermCondition = OfKind<'terms' | 'phrase'>;

/** The conditions of a predicate on terms of `text` fields, which the memory executor looks up in the index. */
export function termConditions(predicate: Predicate): readonly TermCondition[] {
  return conditionsIn(predicate).flatMap((condition) =>
    (condition.kind === 'terms' || condition.kind === 'phrase') && condition.field.type === 'text'
      ? [condition]
      : [],
  );
}

/** A condition in the form that the text index answers. */
export function textQueryOf({ kind, terms }: TermCondition): TextQuery {
  return { kind, terms: terms.map(foldTerm) };
}
