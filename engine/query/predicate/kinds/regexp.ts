import { RE2JS } from 're2js';
import { stringPattern } from '../../memory/match/string-pattern.js';
import { nsPerRow, rowCost } from '../cost.js';
import { requiredLiteral } from '../patterns.js';
import { shortOnly } from '../plain-values.js';
import type { OfKind } from '../predicate.js';
import { describeValues, onlyStrings, valueKind } from './value-kind.js';

/** Maximum length of a compiled pattern: longer ones take seconds for the strings of one test, which cannot be interrupted. */
const longestProgram = 1_000;

/** A regular expression matches the whole value. The request's parser has compiled it. */
export const regexp = valueKind<OfKind<'regexp'>>({
  cost: () => rowCost(nsPerRow.pattern),
  unsupportedOver(condition, family) {
    const size = RE2JS.compile(condition.pattern).programSize();
    if (size > longestProgram)
      return `the pattern compiles to ${size} instructions, more than ${longestProgram}`;
    return onlyStrings(condition, family);
  },
  spans: () => undefined,
  valueSql({ pattern }, { dialect, params }) {
    const parameter = params.add('string', dialect.wholePattern(pattern));
    return (value) => dialect.matchesWhole(value, parameter);
  },
  valueTest: ({ pattern }) => stringPattern(pattern),
  plainTest({ pattern }) {
    const compiled = RE2JS.compile(pattern);
    return shortOnly((text) => compiled.testExact(text));
  },
  literal: ({ pattern }) => requiredLiteral(pattern),
  describe: ({ field, pattern }) => `${field.name} matches ${describeValues([pattern])}`,
});
