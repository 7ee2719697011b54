import { stringPrefix } from '../../memory/match/string-parts.js';
import { nsPerRow, rowCost } from '../cost.js';
import type { OfKind } from '../predicate.js';
import { aboveAllStrings } from '../value-bounds.js';
import { describeValues, onlyStrings, valueKind } from './value-kind.js';

/** The value starts with a string. */
export const prefix = valueKind<OfKind<'prefix'>>({
  cost: () => rowCost(nsPerRow.prefix),
  unsupportedOver: onlyStrings,
  spans({ text }, order) {
    const from = order.value(text);
    const to = order.upper(`${text}${aboveAllStrings}`);
    return from === undefined || to === undefined ? undefined : [[from, to, true, true]];
  },
  valueSql({ text }, { dialect, params }) {
    const start = params.add('string', text);
    return (value) => dialect.startsWith(value, start);
  },
  valueTest: ({ text }) => stringPrefix(text),
  // JavaScript would find a lone surrogate in half of a character.
  plainTest: ({ text }) => (text.isWellFormed() ? (value) => String(value).startsWith(text) : () => false), // prettier-ignore
  requiredStrings: ({ text }) => [text],
  literal: ({ text }) => text,
  describe: ({ field, text }) => `${field.name} starts with ${describeValues([text])}`,
});
