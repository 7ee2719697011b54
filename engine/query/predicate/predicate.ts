import type { Bm25Weight } from '../../text/bm25.js';
import type { StoredType } from '../../core/types.js';

/** A field of the records. Its path and type come from a list of known fields, never from the text of a request. */
export interface FieldRef {
  readonly name: string;
  readonly path: readonly string[];
  /** `auto`: declared, but no value is stored yet, so the field is missing in every record. */
  readonly type: StoredType | 'auto';
  /** True if the field stores strings and the condition compares the numbers written in them; `type` is then the type of these numbers. */
  readonly isNumberInText?: true;
}

/** Returns a string that is the same for equal fields, for use as a key of maps. */
export function fieldKey({ path }: FieldRef): string {
  return JSON.stringify(path);
}

/**
 * A value in the form of its field's type: bigint for `integer` and `long` (so that 64-bit values stay exact), number for `float` and
 * `double`, microseconds since 1970 as a bigint for `date`.
 */
export type Scalar = string | number | bigint | boolean;

/** One end of a range. */
export interface RangeEnd {
  readonly value: Scalar;
  readonly inclusive: boolean;
}

/**
 * A condition on records: frozen plain data, the common form of filters, query strings, entities and coordinates. Each kind is defined by
 * its entry in `kinds/`.
 *
 * A condition on the values of a list field, or of a field inside a list of objects, holds if any of these values satisfies it. A record
 * without a value satisfies no condition on values, and therefore satisfies every negated one.
 */
export type Predicate =
  | { readonly kind: 'all' }
  | { readonly kind: 'none' }
  | { readonly kind: 'and'; readonly items: readonly Predicate[] }
  | { readonly kind: 'or'; readonly items: readonly Predicate[] }
  | { readonly kind: 'not'; readonly item: Predicate }
  | { readonly kind: 'missing'; readonly field: FieldRef }
  /** The number of the field's values is at least `from`, and at most `to` unless that is null. */
  | {
      readonly kind: 'length';
      readonly field: FieldRef;
      readonly from: number;
      readonly to: number | null;
    }
  | {
      readonly kind: 'in';
      readonly field: FieldRef;
      readonly values: readonly Scalar[];
      readonly ignoreCase: boolean;
    }
  | {
      readonly kind: 'range';
      readonly field: FieldRef;
      readonly low: RangeEnd | null;
      readonly high: RangeEnd | null;
    }
  | { readonly kind: 'contains'; readonly field: FieldRef; readonly text: string }
  | { readonly kind: 'prefix'; readonly field: FieldRef; readonly text: string }
  /** `pattern`, in RE2 syntax, matches the whole value. */
  | { readonly kind: 'regexp'; readonly field: FieldRef; readonly pattern: string }
  /** The value contains every term, in any order and letter case. */
  | { readonly kind: 'terms'; readonly field: FieldRef; readonly terms: readonly string[] }
  /** The value contains the terms consecutively, in any letter case. */
  | { readonly kind: 'phrase'; readonly field: FieldRef; readonly terms: readonly string[] }
  /**
   * The value is a region or variant, `BUILD-CHROMOSOME-START-STOP[-ALLELE]`, that shares a base with this region. If `build` is null, it
   * may be of any build.
   */
  | {
      readonly kind: 'overlap';
      readonly field: FieldRef;
      readonly build: string | null;
      readonly chromosome: string;
      readonly start: bigint;
      readonly stop: bigint;
    }
  /**
   * One element of the list of objects `field` satisfies `item`, whose fields are inside that list. These fields keep their whole paths, so
   * `item` by itself is the condition that different elements may satisfy together.
   */
  | { readonly kind: 'any'; readonly field: FieldRef; readonly item: Predicate }
  /** The whole value, or one of its terms, matches the wildcard pattern in any letter case. */
  | { readonly kind: 'wildcard'; readonly field: FieldRef; readonly parts: readonly WildPart[] };

/** A part of a wildcard pattern: literal text, one character, or any number of characters. */
export type WildPart = { readonly text: string } | 'one' | 'any';

/** Predicates that combine others, or that read no field. */
type Combinator = Extract<Predicate, { readonly kind: 'all' | 'none' | 'and' | 'or' | 'not' }>;

/** A leaf of the tree: a condition on one field, or on the elements of one list. */
export type Condition = Exclude<Predicate, Combinator>;

/** A condition on single values of its field. */
export type ValueCondition = Exclude<Condition, { readonly kind: 'missing' | 'length' | 'any' }>;

/** The predicates of one kind. */
export type PredicateOfKind<K extends Predicate['kind']> = Extract<Predicate, { readonly kind: K }>;

/** A condition on the terms of its field, which has a relevance score; for most of those on texts, the text index can find the rows. */
export type ScoredCondition = PredicateOfKind<'terms' | 'phrase' | 'wildcard'>;

/**
 * For comparisons that ignore letter case: spellings among which are all stored values that the predicate matches; absent if they are not
 * known.
 */
export type CaseVariants = ReadonlyMap<Predicate, readonly string[]>;

/** A clause of the relevance score: records that satisfy `item` get a higher score, in proportion to `boost`. */
export interface ScoreClause {
  readonly item: Predicate;
  readonly boost: number;
  /** The BM25 weights of the conditions in `item`; absent until an executor has computed them from the stored values. */
  readonly weights?: ReadonlyMap<Predicate, Bm25Weight>;
}

/** Matches every record. */
export const all: Predicate = Object.freeze({ kind: 'all' });
/** Matches no record. */
export const none: Predicate = Object.freeze({ kind: 'none' });

/** Returns a predicate that matches records that satisfy every item. */
export function and(items: readonly Predicate[]): Predicate {
  const restrictions = items.filter((item) => item.kind !== 'all');
  if (restrictions.length === 0) return all;
  return restrictions.length === 1
    ? restrictions[0]!
    : freezePredicate({ kind: 'and', items: restrictions });
}

/** Returns a predicate that matches records that satisfy at least one item. */
export function or(items: readonly Predicate[]): Predicate {
  if (items.length === 0) return none;
  return items.length === 1 ? items[0]! : freezePredicate({ kind: 'or', items });
}

/** Returns a predicate that matches records that do not satisfy `item`, including those without a value. */
export function not(item: Predicate): Predicate {
  return freezePredicate({ kind: 'not', item });
}

/** Returns a predicate that matches records in which one element of the list satisfies `item`. */
export function any(field: FieldRef, item: Predicate): Predicate {
  return item.kind === 'none' ? none : freezePredicate({ kind: 'any', field, item });
}

/** Freezes a predicate and its list of items or values. Other members, such as `terms`, are not frozen. */
export function freezePredicate(predicate: Predicate): Predicate {
  if ('items' in predicate) Object.freeze(predicate.items);
  if ('values' in predicate) Object.freeze(predicate.values);
  return Object.freeze(predicate);
}

/** Returns the operands of a predicate. The operand of an `any` applies to the elements of its list. */
function childrenOf(predicate: Predicate): readonly Predicate[] {
  if ('items' in predicate) return predicate.items;
  return 'item' in predicate ? [predicate.item] : [];
}

/**
 * Returns the conditions on records in a predicate, from left to right; those on elements of a list are part of an `any` and not listed.
 */
export function conditionsIn(predicate: Predicate): readonly Condition[] {
  return isCondition(predicate) ? [predicate] : childrenOf(predicate).flatMap(conditionsIn);
}

/** Returns all conditions in a predicate, from left to right; an `any` precedes the conditions on the elements of its list. */
export function allConditionsIn(predicate: Predicate): readonly Condition[] {
  const inside = childrenOf(predicate).flatMap(allConditionsIn);
  return isCondition(predicate) ? [predicate, ...inside] : inside;
}

const combinatorKinds: Readonly<Record<Combinator['kind'], true>> = { all: true, none: true, and: true, or: true, not: true }; // prettier-ignore

function isCondition(predicate: Predicate): predicate is Condition {
  return !Object.hasOwn(combinatorKinds, predicate.kind);
}

const scoredKinds: Readonly<Record<ScoredCondition['kind'], true>> = { terms: true, phrase: true, wildcard: true }; // prettier-ignore

/** Returns true for a condition that has a score. */
export function isScoredCondition(predicate: Predicate): predicate is ScoredCondition {
  return Object.hasOwn(scoredKinds, predicate.kind);
}

/** Returns the operands of the ANDs and ORs at the top of a predicate, from left to right. A negation is an operand. */
export function operandsOf(predicate: Predicate): readonly Predicate[] {
  return predicate.kind === 'and' || predicate.kind === 'or'
    ? predicate.items.flatMap(operandsOf)
    : [predicate];
}

/** Returns the alternatives at the top of a predicate: the items of its ORs, from left to right. */
export function alternativesOf(predicate: Predicate): readonly Predicate[] {
  return predicate.kind === 'or' ? predicate.items.flatMap(alternativesOf) : [predicate];
}
