import { stringContains } from '../../memory/match/string-parts.js';
import { nsPerRow, rowCost } from '../cost.js';
import type { OfKind } from '../predicate.js';
import { describeValues, onlyStrings, valueKind } from './value-kind.js';

/** The value contains a string. */
export const contains = valueKind<OfKind<'contains'>>({
  cost: () => rowCost(nsPerRow.scan),
  unsupportedOver: onlyStrings,
  spans: () => undefined,
  valueSql({ text }, { dialect, params }) {
    const part = params.add('string', text);
    return (value) => dialect.contains(value, part);
  },
  valueTest: ({ text }) => stringContains(text),
  // JavaScript would find a lone surrogate in half of a character.
  plainTest: ({ text }) => (text.isWellFormed() ? (value) => String(value).includes(text) : () => false), // prettier-ignore
  requiredStrings: ({ text }) => [text],
  literal: ({ text }) => text,
  describe: ({ field, text }) => `${field.name} contains ${describeValues([text])}`,
});
