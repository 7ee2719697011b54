import { lowerCase } from '../../../text/fold.js';
import { booleanEqualityTest, numberEqualityTest } from '../../memory/match/number-test.js';
import { stringEqualityTest } from '../../memory/match/string-equality.js';
import { paramTypeOf } from '../../sql/dialect/params.js';
import type { FieldExpression, Statement } from '../../sql/dialect/statement.js';
import { caseVariantsBetween, caseVariantsOf } from '../case-variants.js';
import { nsPerRow } from '../predicate-cost.js';
import { toPlainValue } from '../plain-values.js';
import { type CaseVariants, type PredicateOfKind, type Scalar } from '../predicate.js';
import { mayContainVariants } from './variant-place.js';
import type { BoundOrder, ValueRange } from '../value-bounds.js';
import { describeValues, familyOf, kindOfValueCondition } from './value-kind.js';

type EqualityCondition = PredicateOfKind<'in'>;

/** The predicate kind `in`: the value equals one of a list of values. */
export const equality = kindOfValueCondition<EqualityCondition>({
  cost: ({ field, values }) => ({
    perRow: familyOf(field.type) === 'string' ? nsPerRow.equality : nsPerRow.numbers,
    once: 1_000 * values.length,
  }),
  unsupportedOver: () => undefined,
  spans(condition, order, caseVariants) {
    const { values, ignoreCase } = condition;
    const exact = ignoreCase ? caseVariants.get(condition) : values;
    return exact && valueSpans(exact, order);
  },
  between(condition, caseVariants) {
    const { field, values, ignoreCase } = condition;
    if (!ignoreCase || familyOf(field.type) !== 'string' || caseVariants.has(condition))
      return undefined;
    if (values.length > maxSortedValues) return undefined;
    return caseVariantsBetween(values.map(String));
  },
  exactStrings(condition, caseVariants, prefix) {
    const { field, values, ignoreCase } = condition;
    if (familyOf(field.type) !== 'string' || field.isNumberInText) return undefined;
    if (values.length > maxExactStrings) return undefined;
    const strings = values.map(String);
    const exact = ignoreCase ? caseVariants.get(condition) : strings;
    if (exact !== undefined) return exact.map(String).filter((one) => one.startsWith(prefix));
    return caseVariantsOf(strings, maxExactStrings, prefix);
  },
  isLookedUpByHash: true,
  mayNeedJoin: (condition, caseVariants) =>
    (caseVariants.get(condition) ?? condition.values).length > 1,
  valuesInAnyCase: ({ values, ignoreCase }) => (ignoreCase ? values.map(String) : []),
  place: ({ values }) => mayContainVariants(values.map(String)),
  valueSql: (condition, statement) => foldedEqualitySql(condition, statement),
  fieldSql,
  valueTest(condition) {
    const family = familyOf(condition.field.type);
    if (family === 'boolean') return booleanEqualityTest(condition.values);
    return family === 'string' ? stringEqualityTest(condition) : numberEqualityTest(condition);
  },
  plainTest({ field, values, ignoreCase }) {
    if (!ignoreCase || familyOf(field.type) !== 'string') {
      const wantedValues = new Set(values.map(toPlainValue));
      return (value) => wantedValues.has(value);
    }
    const wantedValues = new Set(values.map((value) => lowerCase(String(value))));
    return (value) => wantedValues.has(lowerCase(String(value)));
  },
  requirement: ({ values }) => ({
    values,
    ...(values.length === 1 && { strings: [String(values[0])] }),
  }),
  describe: ({ field, values }) =>
    `${field.name} ${values.length === 1 ? '=' : 'in'} ${describeValues(values)}`,
});

/**
 * Maximum number of values of a condition, and of case variants computed from them, that are looked up in Bloom filters: with more, nearly
 * every filter contains one of them by chance.
 */
const maxExactStrings = 64;

/**
 * Maximum length of a list that is sorted for pruning. The values of a longer list are compared with bounds as the one range that encloses
 * them or, if letter case is ignored and the stored case variants are not known, not at all.
 */
const maxSortedValues = 20_000;

/**
 * Returns the values as ranges of one value in ascending order or, if they are too many, as one range; undefined if a value has no place in
 * the order.
 */
function valueSpans<T>(
  values: readonly Scalar[],
  { value: valueOf, compare }: BoundOrder<T>,
): readonly ValueRange<T>[] | undefined {
  const comparableValues: T[] = [];
  for (const value of values) {
    const at = valueOf(value);
    if (at === undefined) return undefined;
    comparableValues.push(at);
  }
  if (comparableValues.length <= maxSortedValues)
    return comparableValues.sort(compare).map((value) => [value, value, true, true]);
  const least = comparableValues.reduce((a, b) => (compare(b, a) < 0 ? b : a));
  const greatest = comparableValues.reduce((a, b) => (compare(b, a) > 0 ? b : a));
  return [[least, greatest, true, true]];
}

/**
 * Maximum length of a list whose values become separate SQL parameters. A longer list is bound as one parameter, because planning a
 * statement with 100,000 parameters takes longer than running it.
 */
const maxInlineListValues = 32;

/** Returns true if the SQL condition has a parameter for each value; false if it is a subquery over a bound list. */
export function isInlineList(condition: EqualityCondition, caseVariants: CaseVariants): boolean {
  const values = valuesComparedExactly(condition, caseVariants) ?? condition.values;
  return values.length <= maxInlineListValues;
}

function fieldSql(
  condition: EqualityCondition,
  statement: Statement,
  { sql, isMany }: FieldExpression,
): string {
  const { dialect, params, caseVariants } = statement;
  const paramType = paramTypeOf(condition.field);
  const exactVariants = valuesComparedExactly(condition, caseVariants);
  if (exactVariants?.length === 0) return 'false';
  const values = exactVariants ?? condition.values;
  if (!isInlineList(condition, caseVariants)) {
    const list = params.add(paramType, values);
    const isFolded = exactVariants === undefined;
    return isMany
      ? dialect.someInList(sql, list, paramType, isFolded)
      : dialect.isInList(sql, list, paramType, isFolded);
  }
  if (exactVariants === undefined) {
    const test = foldedEqualitySql(condition, statement);
    return isMany ? dialect.some(sql, test) : test(sql);
  }
  const placeholders = values.map((value) => params.add(paramType, value));
  if (!isMany) return dialect.isOneOf(sql, placeholders, paramType);
  return placeholders.length === 1
    ? dialect.listHas(sql, placeholders[0]!)
    : dialect.some(sql, (value) => dialect.isOneOf(value, placeholders, paramType));
}

function foldedEqualitySql(
  { field, values }: EqualityCondition,
  { dialect, params }: Statement,
): (value: string) => string {
  const type = paramTypeOf(field);
  const foldedValues = values.map((value) => dialect.fold(params.add(type, value)));
  return (value) => dialect.isOneOf(dialect.fold(value), foldedValues, type);
}

/**
 * Returns the values to compare with `=`, if that gives the same answer as folding every stored value, which takes ten times longer: for
 * exact comparisons, for values of ASCII characters other than letters, and if the stored case variants are known. Undefined otherwise.
 */
function valuesComparedExactly(
  condition: EqualityCondition,
  caseVariants: CaseVariants,
): readonly Scalar[] | undefined {
  const { ignoreCase, values } = condition;
  const mayHaveCaseVariants = values.some((value) => /[^\p{ASCII}]|[A-Za-z]/u.test(String(value)));
  return ignoreCase && mayHaveCaseVariants ? caseVariants.get(condition) : values;
}
