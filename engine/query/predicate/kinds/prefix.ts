import { stringPrefixTest } from '../../memory/match/string-parts.js';
import { nsPerRow, rowCost } from '../predicate-cost.js';
import type { PredicateOfKind } from '../predicate.js';
import { aboveAllStrings } from '../value-bounds.js';
import { describeValues, requireStringField, kindOfValueCondition } from './value-kind.js';

/** The predicate kind `prefix`: the value starts with a string. */
export const prefix = kindOfValueCondition<PredicateOfKind<'prefix'>>({
  cost: () => rowCost(nsPerRow.prefix),
  unsupportedOver: requireStringField,
  spans({ text }, order) {
    const from = order.value(text);
    const to = order.upper(`${text}${aboveAllStrings}`);
    return from === undefined || to === undefined ? undefined : [[from, to, true, true]];
  },
  valueSql({ text }, { dialect, params }) {
    const start = params.add('string', text);
    return (value) => dialect.startsWith(value, start);
  },
  valueTest: ({ text }) => stringPrefixTest(text),
  // With a lone surrogate, JavaScript's `startsWith` would match half of a character, so such a text matches nothing.
  plainTest: ({ text }) => (text.isWellFormed() ? (value) => String(value).startsWith(text) : () => false), // prettier-ignore
  requirement: ({ text }) => ({ start: text, strings: [text], text }),
  literal: ({ text }) => text,
  describe: ({ field, text }) => `${field.name} starts with ${describeValues([text])}`,
});
