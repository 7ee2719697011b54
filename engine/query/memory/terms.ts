import { conditionsIn, type OfKind, type Predicate } from '../predicate/predicate.js';

/** A condition on the terms of a field. */
export type TermCondition = OfKind<'terms' | 'phrase'>;

/** The rows of a segment that satisfy conditions on terms, by `termsKey`: their numbers, ascending, or one bit per row. */
export type FoundTerms = ReadonlyMap<string, 'none' | Int32Array | Uint8Array>;

/** Equal for equal conditions. */
export function termsKey({ kind, field, terms }: TermCondition): string {
  return JSON.stringify([kind, field.path, terms]);
}

/** The conditions of a predicate on terms of `text` fields, by `termsKey`: the memory executor looks them up in the index. */
export function termConditions(predicate: Predicate): ReadonlyMap<string, TermCondition> {
  return new Map(
    conditionsIn(predicate).flatMap((condition) =>
      (condition.kind === 'terms' || condition.kind === 'phrase') && condition.field.type === 'text'
        ? [[termsKey(condition), condition] as const]
        : [],
    ),
  );
}
