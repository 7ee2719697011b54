import type { Bm25Weight } from '../../text/bm25.js';
import type { StoredType } from '../../core/types.js';

/** A field of the dataset as a predicate names it: found in the dataset's own fields, never taken from a request. */
export interface FieldRef {
  readonly name: string;
  readonly path: readonly string[];
  /** `auto`: declared, but no value has been stored yet, so every record misses it. */
  readonly type: StoredType | 'auto';
  /** The field holds texts, and the condition is on the numbers that they write; `type` is then theirs. */
  readonly isNumberInText?: true;
}

/**
 * A value in the form of its field's type: text for strings, bigint for integers (so that a `long` stays exact), number for
 * floats, microseconds since 1970 as a bigint for dates.
 */
export type Scalar = string | number | bigint | boolean;

/** One end of a range. */
export interface Bound {
  readonly value: Scalar;
  readonly inclusive: boolean;
}

/**
 * What records must satisfy: frozen plain data that filters, query strings, entities and coordinates all parse into.
 * A condition on a list field, or on a field inside a list of objects, holds if any of its values satisfies it; a record without
 * a value satisfies no condition, hence every negated one.
 */
export type Predicate =
  | { readonly kind: 'all' }
  | { readonly kind: 'none' }
  | { readonly kind: 'and'; readonly items: readonly Predicate[] }
  | { readonly kind: 'or'; readonly items: readonly Predicate[] }
  | { readonly kind: 'not'; readonly item: Predicate }
  | { readonly kind: 'missing'; readonly field: FieldRef }
  | {
      readonly kind: 'in';
      readonly field: FieldRef;
      readonly values: readonly Scalar[];
      readonly ignoreCase: boolean;
    }
  | {
      readonly kind: 'range';
      readonly field: FieldRef;
      readonly low: Bound | null;
      readonly high: Bound | null;
    }
  | { readonly kind: 'contains'; readonly field: FieldRef; readonly text: string }
  | { readonly kind: 'prefix'; readonly field: FieldRef; readonly text: string }
  /** `pattern` in RE2 syntax against the whole value. */
  | { readonly kind: 'regexp'; readonly field: FieldRef; readonly pattern: string }
  /** Every word occurs, in any order and letter case. */
  | { readonly kind: 'words'; readonly field: FieldRef; readonly words: readonly string[] }
  /** The words occur one behind the other, in any letter case. */
  | { readonly kind: 'phrase'; readonly field: FieldRef; readonly words: readonly string[] }
  /** Text of a region or variant, `BUILD-CHROMOSOME-START-STOP[-ALLELE]`, shares a base with this region; any build if it is null. */
  | {
      readonly kind: 'overlap';
      readonly field: FieldRef;
      readonly build: string | null;
      readonly chromosome: string;
      readonly start: bigint;
      readonly stop: bigint;
    }
  /** The whole value or one of its words is like this, in any letter case. */
  | { readonly kind: 'wildcard'; readonly field: FieldRef; readonly parts: readonly WildPart[] };

/** Text as it is, one character, or any number of them. */
export type WildPart = { readonly text: string } | 'one' | 'any';

/** Something that ranks the records: those that satisfy `item` come before the others. */
export interface Score {
  readonly item: Predicate;
  readonly boost: number;
  /** What its conditions count, once the stored texts have been looked at (weigh.ts). */
  readonly weights?: ReadonlyMap<Predicate, Bm25Weight>;
}

/** Matches every record. */
export const all: Predicate = Object.freeze({ kind: 'all' });
/** Matches no record. */
export const none: Predicate = Object.freeze({ kind: 'none' });

/** Records that satisfy every item. */
export function and(items: readonly Predicate[]): Predicate {
  const kept = items.filter((item) => item.kind !== 'all');
  if (kept.length === 0) return all;
  return kept.length === 1 ? kept[0]! : node({ kind: 'and', items: kept });
}

/** Records that satisfy at least one item. */
export function or(items: readonly Predicate[]): Predicate {
  if (items.length === 0) return none;
  return items.length === 1 ? items[0]! : node({ kind: 'or', items });
}

/** Records that do not satisfy `item`, those without a value included. */
export function not(item: Predicate): Predicate {
  return node({ kind: 'not', item });
}

/** Freezes a node; the only way to make one. */
export function node(predicate: Predicate): Predicate {
  if ('items' in predicate) Object.freeze(predicate.items);
  if ('values' in predicate) Object.freeze(predicate.values);
  return Object.freeze(predicate);
}
