import { RE2JS } from 're2js';
import { caseFold } from '../../../text/fold.js';
import { stringWildcardTest } from '../../memory/match/string-terms.js';
import { nsPerRow, rowCost } from '../predicate-cost.js';
import { toTextQuery, wildcardPattern } from '../text-patterns.js';
import { limitTextLength } from '../plain-values.js';
import type { PredicateOfKind, WildPart } from '../predicate.js';
import { indexedTerms, termCost } from './indexed-terms.js';
import type { PredicateKind } from './kind.js';
import { describeValues, requireStringField, kindOfValueCondition } from './value-kind.js';

/** The predicate kind `wildcard`: the whole value, or one of its terms, matches a wildcard pattern. */
export const wildcard: PredicateKind<PredicateOfKind<'wildcard'>> = indexedTerms(
  wholeValueReason,
  kindOfValueCondition<PredicateOfKind<'wildcard'>>({
    cost: (condition) => (toTextQuery(condition) ? termCost(condition) : rowCost(nsPerRow.terms)),
    unsupportedOver: requireStringField,
    spans: () => undefined,
    valueSql({ parts }, { dialect, params }) {
      const pattern = params.add('string', wildcardPattern(parts));
      return (value) => dialect.matches(value, pattern);
    },
    valueTest: ({ parts }) => stringWildcardTest(parts),
    plainTest({ parts }) {
      const pattern = RE2JS.compile(wildcardPattern(parts));
      const foldedLiterals = literalParts(parts).map(caseFold);
      return limitTextLength((text) => {
        const value = caseFold(text);
        return foldedLiterals.every((literal) => value.includes(literal)) && pattern.test(text);
      });
    },
    requirement: ({ parts }) => ({ strings: literalParts(parts) }),
    occurrences({ parts }) {
      const pattern = RE2JS.compile(wildcardPattern(parts));
      return (text) => (pattern.test(text) ? 1 : 0);
    },
    describe({ field, parts }) {
      const signs = { one: '?', any: '*' } as const;
      const pattern = parts.map((part) => (typeof part === 'object' ? part.text : signs[part]));
      return `${field.name} is like ${describeValues([pattern.join('')])}`;
    },
  }),
);

/** Returns why the text index cannot look up a pattern; undefined if it can. */
function wholeValueReason(condition: PredicateOfKind<'wildcard'>): string | undefined {
  if (toTextQuery(condition)) return undefined;
  return `the pattern may match a whole value of ${condition.field.name}, of which the index has only the terms`;
}

function literalParts(parts: readonly WildPart[]): readonly string[] {
  return parts.flatMap((part) => (typeof part === 'object' ? [part.text] : []));
}
