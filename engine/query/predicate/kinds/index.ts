import type { ConditionCost } from '../predicate-cost.js';
import type { PredicateKind, Requirement } from './kind.js';
import { any } from './any.js';
import { allRecords, and, noRecords, not, or } from './combinators.js';
import { contains } from './contains.js';
import { equality } from './equality.js';
import { length } from './length.js';
import { missing } from './missing.js';
import { overlap } from './overlap.js';
import { prefix } from './prefix.js';
import { range } from './range.js';
import { regexp } from './regexp.js';
import { phrase, terms } from './terms.js';
import { wildcard } from './wildcard.js';
import type { FieldRef, PredicateOfKind, Predicate } from '../predicate.js';

/** One entry for each kind of predicate. */
const predicateKinds: { readonly [K in Predicate['kind']]: PredicateKind<PredicateOfKind<K>> } = {
  all: allRecords,
  none: noRecords,
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

/** Returns the functions that implement the kind of a predicate. */
export function kindOf<P extends Predicate>(predicate: P): PredicateKind<P> {
  return predicateKinds[predicate.kind] as unknown as PredicateKind<P>;
}

/** Returns the fields that a predicate reads, in the order of its conditions; a field of several conditions appears several times. */
export function fieldsRead(predicate: Predicate): readonly FieldRef[] {
  return kindOf(predicate).fields(predicate, fieldsRead);
}

/** Returns true if a predicate cannot be evaluated on single pages of a segment. */
export function needsWholeSegment(predicate: Predicate): boolean {
  return kindOf(predicate).needsWholeSegment(predicate, needsWholeSegment);
}

/** Returns the estimated cost of evaluating a predicate over columns in memory. */
export function costOf(predicate: Predicate): ConditionCost {
  return kindOf(predicate).cost(predicate, costOf);
}

/** Returns a short description of a predicate in English: `info.AF < 0.01`. */
export function predicateText(predicate: Predicate): string {
  return kindOf(predicate).describe(predicate, predicateText);
}

/** Returns what a predicate requires of its field. */
export function requirementOf(predicate: Predicate): Requirement {
  return kindOf(predicate).requirement(predicate);
}
