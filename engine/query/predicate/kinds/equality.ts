import { lowerCase } from '../../../text/fold.js';
import { booleanEquality, numberEquality } from '../../memory/match/number-test.js';
import { stringEquality } from '../../memory/match/string-equality.js';
import { boundType } from '../../sql/params.js';
import type { FieldExpression, Statement } from '../../sql/statement.js';
import { caseVariantsBetween, caseVariantsOf } from '../case-variants.js';
import { nsPerRow } from '../cost.js';
import { plainOf } from '../plain-values.js';
import { type CaseVariants, type OfKind, type Scalar } from '../predicate.js';
import { variantsTest } from '../variant-place.js';
import type { Order, ValueRange } from '../value-bounds.js';
import { describeValues, familyOf, valueKind } from './value-kind.js';

type Equality = OfKind<'in'>;

/** The value equals one of a list of values. */
export const equality = valueKind<Equality>({
  cost: ({ field, values }) => ({
    perRow: familyOf(field.type) === 'string' ? nsPerRow.equality : nsPerRow.numbers,
    once: 1_000 * values.length,
  }),
  unsupportedOver: () => undefined,
  spans(condition, order, caseVariants) {
    const { values, ignoreCase } = condition;
    const exact = ignoreCase ? caseVariants.get(condition) : values;
    return exact && spansOf(exact, order);
  },
  between(condition, caseVariants) {
    const { field, values, ignoreCase } = condition;
    if (!ignoreCase || familyOf(field.type) !== 'string' || caseVariants.has(condition))
      return undefined;
    if (values.length > longestSorted) return undefined;
    return caseVariantsBetween(values.map(String));
  },
  spellings(condition, caseVariants) {
    const { field, values, ignoreCase } = condition;
    if (familyOf(field.type) !== 'string' || field.isNumberInText) return undefined;
    if (values.length > mostSpellings) return undefined;
    const strings = values.map(String);
    return ignoreCase ? (caseVariants.get(condition) ?? caseVariantsOf(strings, mostSpellings)) : strings; // prettier-ignore
  },
  place: ({ values }) => variantsTest(values.map(String)),
  valueSql: (condition, statement) => foldedSql(condition, statement),
  fieldSql,
  valueTest(condition) {
    const family = familyOf(condition.field.type);
    if (family === 'boolean') return booleanEquality(condition.values);
    return family === 'string' ? stringEquality(condition) : numberEquality(condition);
  },
  plainTest({ field, values, ignoreCase }) {
    if (!ignoreCase || familyOf(field.type) !== 'string') {
      const wantedValues = new Set(values.map(plainOf));
      return (value) => wantedValues.has(value);
    }
    const wantedValues = new Set(values.map((value) => lowerCase(String(value))));
    return (value) => wantedValues.has(lowerCase(String(value)));
  },
  requiredStrings: ({ values }) => (values.length === 1 ? [String(values[0])] : []),
  describe: ({ field, values }) =>
    `${field.name} ${values.length === 1 ? '=' : 'in'} ${describeValues(values)}`,
});

/** Maximum number of spellings that are looked up in bloom filters: with more, nearly every filter contains one of them by chance. */
const mostSpellings = 64;

/** Longer lists are not sorted: strings are not compared with bounds, and other values by the one span that encloses them. */
const longestSorted = 20_000;

/** The values as spans, in ascending order; undefined if one of them has no place in the order. */
function spansOf<T>(
  values: readonly Scalar[],
  { value: valueOf, compare }: Order<T>,
): readonly ValueRange<T>[] | undefined {
  const found: T[] = [];
  for (const value of values) {
    const at = valueOf(value);
    if (at === undefined) return undefined;
    found.push(at);
  }
  if (found.length <= longestSorted)
    return found.sort(compare).map((value) => [value, value, true, true]);
  const least = found.reduce((a, b) => (compare(b, a) < 0 ? b : a));
  const greatest = found.reduce((a, b) => (compare(b, a) > 0 ? b : a));
  return [[least, greatest, true, true]];
}

/** Longer lists are bound as one value and joined: planning a statement of 100,000 parameters takes longer than running it. */
const longestWrittenList = 32;

/** True if the SQL condition names each value; false if it is a subquery over a bound list. */
export function isWrittenOut({ values }: Equality): boolean {
  return values.length <= longestWrittenList;
}

function fieldSql(
  condition: Equality,
  statement: Statement,
  { sql, isMany }: FieldExpression,
): string {
  const { dialect, params, caseVariants } = statement;
  const paramType = boundType(condition.field);
  const exactVariants = exactValues(condition, caseVariants);
  if (exactVariants?.length === 0) return 'false';
  const values = exactVariants ?? condition.values;
  if (values.length > longestWrittenList) {
    const list = params.add(paramType, values);
    const isFolded = exactVariants === undefined;
    return isMany
      ? dialect.someInList(sql, list, paramType, isFolded)
      : dialect.isInList(sql, list, paramType, isFolded);
  }
  if (exactVariants === undefined) {
    const test = foldedSql(condition, statement);
    return isMany ? dialect.some(sql, test) : test(sql);
  }
  const added = values.map((value) => params.add(paramType, value));
  if (!isMany) return dialect.isOneOf(sql, added, paramType);
  return added.length === 1
    ? dialect.listHas(sql, added[0]!)
    : dialect.some(sql, (value) => dialect.isOneOf(value, added, paramType));
}

function foldedSql(
  { field, values }: Equality,
  { dialect, params }: Statement,
): (value: string) => string {
  const type = boundType(field);
  const foldedValues = values.map((value) => dialect.fold(params.add(type, value)));
  return (value) => dialect.isOneOf(dialect.fold(value), foldedValues, type);
}

/**
 * The values to compare with `=` where that gives the same answer as folding every stored value, which takes ten times longer: for
 * exact comparisons, for values without letters, and where the stored case variants are known. Undefined otherwise.
 */
function exactValues(
  condition: Equality,
  caseVariants: CaseVariants,
): readonly Scalar[] | undefined {
  const { ignoreCase, values } = condition;
  const hasLetters = values.some((value) => /[^\p{ASCII}]|[A-Za-z]/u.test(String(value)));
  return ignoreCase && hasLetters ? caseVariants.get(condition) : values;
}
