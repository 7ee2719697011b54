import type { StoredType } from '../../../core/types.js';
import { fieldTest, type RowTest, type ValueTest } from '../../memory/match/row-test.js';
import {
  fieldExpression,
  type FieldExpression,
  type Statement,
} from '../../sql/dialect/statement.js';
import { packStrings } from '../../../core/packed-strings.js';
import { filterHashes, type FilterHashes } from '../../../parquet/bloom-filter.js';
import { supported, unsupportedBecause, type PredicateKind, type Requirement, type SegmentTest } from './kind.js'; // prettier-ignore
import type { PlainTest } from '../plain-values.js';
import type { CaseVariants, Predicate, Scalar, ValueCondition } from '../predicate.js';
import { columnFinder } from './segment-column.js';
import { isVariantField } from './variant-place.js';
import {
  boundsTest,
  stringBoundsTest,
  type StringBound,
  type BoundOrder,
  type BoundStatistic,
  type ValueRange,
} from '../value-bounds.js';

/** The parts of a `PredicateKind` that a condition on single values states itself. */
type OwnPart =
  | 'cost'
  | 'literal'
  | 'isLookedUpByHash'
  | 'mayNeedJoin'
  | 'valuesInAnyCase'
  | 'regularExpressions'
  | 'occurrences'
  | 'describe';

/** The parts of a condition on single values from which `kindOfValueCondition` creates a `PredicateKind`. */
interface ValueKind<C extends ValueCondition> extends Pick<PredicateKind<C>, OwnPart> {
  /** Returns why the memory executor does not evaluate the condition over values of this family; undefined if it does. */
  unsupportedOver(condition: C, family: TypeFamily): string | undefined;
  /** Returns ranges of values, ascending by `order`, such that every match lies in one of them; undefined if none are known. */
  spans<T>(
    condition: C,
    order: BoundOrder<T>,
    caseVariants: CaseVariants,
  ): readonly ValueRange<T>[] | undefined;
  /**
   * For conditions that are no ranges of values: returns a test of a column's smallest and largest string that is false only if no match
   * lies between them.
   */
  between?(
    condition: C,
    caseVariants: CaseVariants,
  ): ((low: StringBound, high: StringBound) => boolean) | undefined;
  /** Returns strings among which are all stored ones that satisfy the condition and begin with `prefix` (ASCII); undefined if unknown. */
  exactStrings?(
    condition: C,
    caseVariants: CaseVariants,
    prefix: string,
  ): readonly string[] | undefined;
  /**
   * For a variant field: returns a test of coordinates against statistics. The test is false only if no record among the tested rows can
   * have a matching variant. Returns undefined if statistics cannot decide.
   */
  place?(condition: C, mayHold: (place: Predicate) => SegmentTest): SegmentTest | undefined;
  /**
   * Returns a function that builds the SQL condition on one value. Parameters are added once, even if the condition is written several
   * times.
   */
  valueSql(condition: C, statement: Statement): (value: string) => string;
  /** Returns the SQL condition on a field's values; absent if `some(value => valueSql)` is the best form. */
  fieldSql?(condition: C, statement: Statement, values: FieldExpression): string;
  /** Returns the test of single values in memory. */
  valueTest(condition: C): ValueTest;
  /** Returns the test of single values of documents. */
  plainTest(condition: C): PlainTest;
  /** Returns what is required of the values, as in `PredicateKind`; absent if that is nothing that plain data express. */
  requirement?(condition: C): Requirement;
}

/** Returns the predicate kind of a condition that a record satisfies if any value of the field does. */
export function kindOfValueCondition<C extends ValueCondition>(
  parts: ValueKind<C>,
): PredicateKind<C> {
  return {
    // Of `parts`, those of `OwnPart` become parts of the entry as they are.
    ...parts,
    fields: ({ field }) => [field],
    needsWholeSegment: () => false,
    memorySupport(condition, { column }) {
      const { field } = condition;
      if (field.isNumberInText)
        return unsupportedBecause(`${field.name} stores numbers as strings`);
      const family = familyOf(field.type);
      if (family === undefined) return unsupportedBecause(`${field.name} is of type ${field.type}`);
      const storedColumn = column(field);
      if (storedColumn !== undefined && familyOf(storedColumn.type) !== family)
        return unsupportedBecause(`${field.name} has become a column of type ${storedColumn.type}`);
      const reason = parts.unsupportedOver(condition, family);
      return reason === undefined ? supported : unsupportedBecause(reason);
    },
    mayHold(condition, { caseVariants, mayHold }) {
      const { field } = condition;
      const mayLie = isVariantField(field) ? parts.place?.(condition, mayHold) : undefined;
      const find = columnFinder(field);
      /**
       * The test of a column's bounds; null if bounds decide nothing, undefined until the test is first needed. It is not applied to rows
       * to which `mayLie` is.
       */
      let insideBounds: ((min: BoundStatistic, max: BoundStatistic) => boolean) | null | undefined;
      const isInside = (min: BoundStatistic, max: BoundStatistic): boolean => {
        if (insideBounds === undefined && !field.isNumberInText)
          insideBounds =
            stringBoundsTest(parts.between?.(condition, caseVariants)) ??
            boundsTest(field.type, (order) => parts.spans(condition, order, caseVariants));
        insideBounds ??= null;
        return insideBounds === null || insideBounds(min, max);
      };
      /**
       * The hashes of all strings that satisfy the condition, by the prefix of the strings with which they are compared; null if these
       * strings are not known. Known prefixes matter: a variant has 32 spellings, but two that begin with "GRCH38-", and the more spellings
       * a filter is asked for, the more often it contains one of them by chance.
       */
      const hashesByPrefix = new Map<string, FilterHashes | null>();
      const isIn = (mayContainAny: (hashes: FilterHashes) => boolean, prefix: string): boolean => {
        let hashes = hashesByPrefix.get(prefix);
        if (hashes === undefined) {
          const strings = parts.exactStrings?.(condition, caseVariants, prefix);
          hashes = strings ? filterHashes(packStrings(strings)) : null;
          hashesByPrefix.set(prefix, hashes);
        }
        return hashes === null || (hashes.length > 0 && mayContainAny(hashes));
      };
      const text = parts.literal?.(condition) ?? '';
      const bytes = text === '' ? undefined : Buffer.from(text.toWellFormed());
      return (segment) => {
        const column = find(segment);
        if (column === 'unknown') return true;
        if (column === 'absent' || (column.stats.nulls ?? 0) >= segment.rows) return false;
        const { mayContainAny, mayHoldBytes, prefix = '' } = column.stats;
        if (column.type === field.type) {
          if (mayContainAny && !isIn(mayContainAny, prefix)) return false;
          if (mayHoldBytes && bytes && !mayHoldBytes(bytes)) return false;
        }
        // Names of variants begin with the build and the position, so the bounds of the strings exclude hardly any rows that the positions
        // do not exclude.
        if (segment.areVariantsPlaced && mayLie) return mayLie(segment);
        if (column.isList || column.type !== field.type) return true;
        const { min, max } = column.stats;
        return min === undefined || max === undefined || isInside(min, max);
      };
    },
    mustHold: () => () => false,
    sql(condition, { statement }) {
      const values = fieldExpression(statement, condition.field);
      if (values === undefined) return 'false';
      if (parts.fieldSql) return `(${parts.fieldSql(condition, statement, values)})`;
      const test = parts.valueSql(condition, statement);
      return `(${values.isMany ? statement.dialect.some(values.sql, test) : test(values.sql)})`;
    },
    memory: (condition): RowTest => fieldTest(condition.field, parts.valueTest(condition)),
    document: (condition, { anyValue }) => anyValue(condition.field, parts.plainTest(condition)),
    requirement: (condition) => parts.requirement?.(condition) ?? {},
  };
}

/**
 * Groups of types whose values are compared in the same way. A field may have changed its type within a family since the predicate was
 * created.
 */
export type TypeFamily = 'string' | 'whole' | 'date' | 'boolean' | 'double' | 'float';

export function familyOf(type: StoredType | 'auto'): TypeFamily | undefined {
  switch (type) {
    case 'string':
    case 'text':
    case 'blob':
      return 'string';
    case 'integer':
    case 'long':
      return 'whole';
    case 'date':
    case 'boolean':
    case 'double':
    case 'float':
      return type;
    case 'object':
    case 'json':
    case 'auto':
      return undefined;
  }
}

/** Returns the reason why a condition that only strings satisfy does not apply; undefined for strings. */
export function requireStringField(
  { field, kind }: ValueCondition,
  family: TypeFamily,
): string | undefined {
  return family === 'string' ? undefined : `${kind} does not apply to ${field.name}, which holds no strings`; // prettier-ignore
}

/** Returns a description of values: the first three, each cut to 60 characters, and the number of the others. */
export function describeValues(values: readonly Scalar[]): string {
  const shownValues = values.slice(0, 3).map((value) => {
    const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
    return text.length > 60 ? `${text.slice(0, 57).toWellFormed()}...` : text;
  });
  if (values.length > shownValues.length)
    shownValues.push(`${values.length - shownValues.length} more`);
  return shownValues.join(', ');
}
