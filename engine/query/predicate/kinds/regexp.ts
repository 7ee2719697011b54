import { RE2JS } from 're2js';
import { stringPatternTest } from '../../memory/match/string-pattern.js';
import { nsPerRow, rowCost } from '../predicate-cost.js';
import { requiredLiteral } from '../text-patterns.js';
import { limitTextLength } from '../plain-values.js';
import type { PredicateOfKind } from '../predicate.js';
import { describeValues, requireStringField, kindOfValueCondition } from './value-kind.js';

/**
 * Maximum length, in instructions, of a compiled pattern that the memory executor runs: a longer one takes seconds for the strings of one
 * test, which cannot be interrupted.
 */
const maxProgramInstructions = 1_000;

/** The predicate kind `regexp`: a regular expression matches the whole value. The request's parser has already compiled the expression. */
export const regexp = kindOfValueCondition<PredicateOfKind<'regexp'>>({
  cost: () => rowCost(nsPerRow.pattern),
  unsupportedOver(condition, family) {
    const size = RE2JS.compile(condition.pattern).programSize();
    if (size > maxProgramInstructions)
      return `the pattern compiles to ${size} instructions, more than ${maxProgramInstructions}`;
    return requireStringField(condition, family);
  },
  spans: () => undefined,
  valueSql({ pattern }, { dialect, params }) {
    const parameter = params.add('string', dialect.wholePattern(pattern));
    return (value) => dialect.matchesWhole(value, parameter);
  },
  valueTest: ({ pattern }) => stringPatternTest(pattern),
  plainTest({ pattern }) {
    const compiled = RE2JS.compile(pattern);
    return limitTextLength((text) => compiled.testExact(text));
  },
  regularExpressions: ({ pattern }) => [pattern],
  literal: ({ pattern }) => requiredLiteral(pattern),
  describe: ({ field, pattern }) => `${field.name} matches ${describeValues([pattern])}`,
});
