import { unpackBitmap } from '../../../text/row-bitmap.js';
import type { ColumnMatcher, FoldedTerms } from '../../../text/column-matcher.js';
import { rowTest, type RowTest } from '../../memory/match/row-test.js';
import { isSparse } from '../../memory/match/selection-vector.js';
import { isUnsupported, type Unsupported } from '../../unsupported.js';
import { nsPerRow, rowCost, type ConditionCost } from '../predicate-cost.js';
import { toTextQuery } from '../text-patterns.js';
import { isScoredCondition, type FieldRef, type Predicate, type ScoredCondition } from '../predicate.js'; // prettier-ignore
import { supported, unsupportedBecause, type PredicateKind } from './kind.js';

/** Cost in nanoseconds of looking up a condition in a text index. */
const indexLookupNs = 2_000_000;

/** Returns the cost of a condition on terms. */
export function termCost({ field }: ScoredCondition): ConditionCost {
  return field.type === 'text'
    ? { perRow: nsPerRow.presence, once: indexLookupNs }
    : rowCost(nsPerRow.terms);
}

/** Returns true for a condition whose rows the memory executor finds only by the text index. */
export function readsTextIndex(predicate: Predicate): boolean {
  return isScoredCondition(predicate) && predicate.field.type === 'text';
}

/**
 * Returns a predicate kind for terms. In memory, the values of fields of type `text` are too long to be scanned, so their rows come from
 * the text index, and conditions for which `invalidReason` tells why it cannot look them up are not supported; other fields use `scanning`.
 */
export function indexedTerms<C extends ScoredCondition>(
  invalidReason: (condition: C) => string | undefined,
  scanning: PredicateKind<C>,
): PredicateKind<C> {
  return {
    ...scanning,
    needsWholeSegment: readsTextIndex,
    memorySupport(condition, context) {
      const { field } = condition;
      if (field.type !== 'text') return scanning.memorySupport(condition, context);
      const problem = invalidReason(condition);
      if (problem !== undefined) return unsupportedBecause(problem);
      if (context.hasTextIndex(field)) return supported;
      return unsupportedBecause(`${field.name} has no index of terms in every segment`);
    },
    memory: (condition, context) =>
      condition.field.type === 'text'
        ? indexLookupTest(condition)
        : scanning.memory(condition, context),
  };
}

/** Returns a test that selects the rows that the text index finds. */
function indexLookupTest(condition: ScoredCondition): RowTest {
  const query = toTextQuery(condition)!;
  return rowTest((view) => {
    const text = view.text?.(condition.field);
    if (text === undefined) return { unsupported: 'rows without an index of terms' };
    if (isUnsupported(text)) return text;
    if (text === 'absent') return 'none';
    const unsupported = unsupportedPattern(condition.field, text, [query]);
    if (unsupported) return unsupported;
    const matchingRows = text.matchingRows(query);
    return isSparse(matchingRows) ? matchingRows : unpackBitmap(matchingRows, view.rows);
  });
}

/** Returns the reason why the index of a segment cannot look up a wildcard pattern among these terms; undefined if it can. */
export function unsupportedPattern(
  { name }: FieldRef,
  text: ColumnMatcher,
  wanted: readonly FoldedTerms[],
): Unsupported | undefined {
  if (wanted.some((terms) => text.hasTooManyTerms(terms)))
    return { unsupported: `too many or too long terms of ${name} for a wildcard` };
  if (wanted.some((terms) => text.mayMatchAsWhole(terms)))
    return { unsupported: `values of ${name} may match a wildcard as a whole` };
  return undefined;
}
