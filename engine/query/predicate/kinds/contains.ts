import { stringContainsTest } from '../../memory/match/string-parts.js';
import { nsPerRow, rowCost } from '../predicate-cost.js';
import type { PredicateOfKind } from '../predicate.js';
import { describeValues, requireStringField, kindOfValueCondition } from './value-kind.js';

/** The predicate kind `contains`: the value contains a string. */
export const contains = kindOfValueCondition<PredicateOfKind<'contains'>>({
  cost: () => rowCost(nsPerRow.scan),
  unsupportedOver: requireStringField,
  spans: () => undefined,
  valueSql({ text }, { dialect, params }) {
    const part = params.add('string', text);
    return (value) => dialect.contains(value, part);
  },
  valueTest: ({ text }) => stringContainsTest(text),
  // With a lone surrogate, JavaScript's `includes` would match half of a character, so such a text matches nothing.
  plainTest: ({ text }) => (text.isWellFormed() ? (value) => String(value).includes(text) : () => false), // prettier-ignore
  requirement: ({ text }) => ({ strings: [text], text }),
  literal: ({ text }) => text,
  describe: ({ field, text }) => `${field.name} contains ${describeValues([text])}`,
});
