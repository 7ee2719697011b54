import type { Cost } from './cost.js';
import type { PredicateKind } from './kind.js';
import { any } from './kinds/any.js';
import { all, and, none, not, or } from './kinds/combinators.js';
import { contains } from './kinds/contains.js';
import { equality } from './kinds/equality.js';
import { length } from './kinds/length.js';
import { missing } from './kinds/missing.js';
import { overlap } from './kinds/overlap.js';
import { prefix } from './kinds/prefix.js';
import { range } from './kinds/range.js';
import { regexp } from './kinds/regexp.js';
import { phrase, terms } from './kinds/terms.js';
import { wildcard } from './kinds/wildcard.js';
import type { FieldRef, OfKind, Predicate } from './predicate.js';

/** One entry for each kind of predicate. */
const kinds: { readonly [K in Predicate['kind']]: PredicateKind<OfKind<K>> } = {
  all,
  none,
  and,
  or,
  not,
  missing,
  length,
  any,
  in: equality,
  range,
  contains,
  prefix,
  regexp,
  terms,
  phrase,
  overlap,
  wildcard,
};

/** The entry of a predicate's kind. */
export function kindOf<P extends Predicate>(predicate: P): PredicateKind<P> {
  return kinds[predicate.kind] as unknown as PredicateKind<P>;
}

/** The fields that a predicate reads, in the order of its conditions; a field of several conditions comes several times. */
export function fieldsRead(predicate: Predicate): readonly FieldRef[] {
  return kindOf(predicate).fields(predicate, fieldsRead);
}

/** The estimated cost of evaluating a predicate over columns in memory. */
export function costOf(predicate: Predicate): Cost {
  return kindOf(predicate).cost(predicate, costOf);
}

/** A short description of a predicate in English: `info.AF < 0.01`. */
export function describe(predicate: Predicate): string {
  return kindOf(predicate).describe(predicate, describe);
}
