import type { StoredType } from '../../../core/types.js';
import { fieldTest, type RowTest, type ValueTest } from '../../memory/match/row-test.js';
import { fieldExpression, type FieldExpression, type Statement } from '../../sql/statement.js';
import { filterHash, type FilterHash } from '../../../parquet/bloom-filter.js';
import type { Cost } from '../cost.js';
import { supported, unsupportedBecause, type PredicateKind, type SegmentTest } from '../kind.js';
import type { PlainTest } from '../plain-values.js';
import type { CaseVariants, Predicate, Scalar, ValueCondition } from '../predicate.js';
import { columnFinder } from '../segment-column.js';
import { isVariant } from '../variant-place.js';
import {
  boundsTest,
  stringsTest,
  type Order,
  type Statistic,
  type ValueRange,
} from '../value-bounds.js';

/** The parts of a condition on single values, from which `valueKind` makes a `PredicateKind`. */
export interface ValueKind<C extends ValueCondition> {
  cost(condition: C): Cost;
  /** Why the memory executor does not evaluate it over values of this family; undefined if it does. */
  unsupportedOver(condition: C, family: TypeFamily): string | undefined;
  /** Spans of values, in ascending order of `order`, such that every match lies in one of them; undefined if none are known. */
  spans<T>(
    condition: C,
    order: Order<T>,
    caseVariants: CaseVariants,
  ): readonly ValueRange<T>[] | undefined;
  /** For conditions without spans: a test of a column's smallest and largest string that is false only if no match lies between them. */
  between?(
    condition: C,
    caseVariants: CaseVariants,
  ): ((low: Buffer, high: Buffer) => boolean) | undefined;
  /** All strings that satisfy the condition, if they are few; else undefined. */
  spellings?(condition: C, caseVariants: CaseVariants): readonly string[] | undefined;
  /** A string that every match contains, in this letter case; without this function, or if it is empty, there is none. */
  literal?(condition: C): string;
  /**
   * If the field is that of variants: a test of where records lie, by the statistics of their coordinates, that is false only if none of them can have a
   * matching variant; undefined if this is not known.
   */
  place?(condition: C, mayHold: (place: Predicate) => SegmentTest): SegmentTest | undefined;
  /** The SQL condition on one value. Parameters are added once, however often the condition is written out. */
  valueSql(condition: C, statement: Statement): (value: string) => string;
  /** The SQL condition on a field's values, where `some(value => valueSql)` is not the best form. */
  fieldSql?(condition: C, statement: Statement, values: FieldExpression): string;
  /** The test of single values in memory. */
  valueTest(condition: C): ValueTest;
  /** The test of single values of documents. */
  plainTest(condition: C): PlainTest;
  /** Strings that every matching value contains, as in `PredicateKind`; absent for conditions without such strings. */
  requiredStrings?(condition: C): readonly string[];
  describe(condition: C): string;
}

/** The entry of a condition that a record satisfies if any of the field's values does. */
export function valueKind<C extends ValueCondition>(parts: ValueKind<C>): PredicateKind<C> {
  return {
    fields: ({ field }) => [field],
    cost: (condition) => parts.cost(condition),
    memorySupport(condition, { column }) {
      const { field } = condition;
      if (field.isNumberInText)
        return unsupportedBecause(`${field.name} stores numbers as strings`);
      const family = familyOf(field.type);
      if (family === undefined) return unsupportedBecause(`${field.name} is of type ${field.type}`);
      const stored = column(field);
      if (stored !== undefined && familyOf(stored.type) !== family)
        return unsupportedBecause(`${field.name} has become a column of type ${stored.type}`);
      const reason = parts.unsupportedOver(condition, family);
      return reason === undefined ? supported : unsupportedBecause(reason);
    },
    mayHold(condition, { caseVariants, mayHold }) {
      const { field } = condition;
      const mayLie = isVariant(field) ? parts.place?.(condition, mayHold) : undefined;
      const find = columnFinder(field);
      /** The test of the bounds; null if bounds decide nothing, undefined until it is first needed. It is not used where `mayLie` is. */
      let insideBounds: ((min: Statistic, max: Statistic) => boolean) | null | undefined;
      const isInside = (min: Statistic, max: Statistic): boolean => {
        if (insideBounds === undefined && !field.isNumberInText)
          insideBounds =
            stringsTest(parts.between?.(condition, caseVariants)) ??
            boundsTest(field.type, (order) => parts.spans(condition, order, caseVariants));
        insideBounds ??= null;
        return insideBounds === null || insideBounds(min, max);
      };
      /** Null: the strings that satisfy the condition are not known. */
      let hashes: readonly FilterHash[] | null | undefined;
      const isIn = (mayContain: (hash: FilterHash) => boolean): boolean => {
        if (hashes === undefined)
          hashes = parts.spellings?.(condition, caseVariants)?.map(filterHash) ?? null;
        return hashes === null || hashes.some(mayContain);
      };
      const text = parts.literal?.(condition) ?? '';
      const literal = text === '' ? undefined : Buffer.from(text.toWellFormed());
      return (segment) => {
        const column = find(segment);
        if (column === 'unknown') return true;
        if (column === 'absent' || column.stats.nulls >= segment.rows) return false;
        const { mayContain, mayHoldBytes } = column.stats;
        if (column.type === field.type) {
          if (mayContain && !isIn(mayContain)) return false;
          if (mayHoldBytes && literal && !mayHoldBytes(literal)) return false;
        }
        // Beyond the positions, which variants begin with after the build, the bounds of the strings rule out hardly anything.
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
    requiredStrings: (condition) => parts.requiredStrings?.(condition) ?? [],
    describe: (condition) => parts.describe(condition),
  };
}

/** Types whose values are compared alike. A field may have changed its type since the predicate was made. */
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

/** The reason of conditions that only strings can satisfy. */
export function onlyStrings(
  { field, kind }: ValueCondition,
  family: TypeFamily,
): string | undefined {
  return family === 'string' ? undefined : `${kind} does not apply to ${field.name}, which holds no strings`; // prettier-ignore
}

/** Describes values: at most three, each shortened. */
export function describeValues(values: readonly Scalar[]): string {
  const shownValues = values.slice(0, 3).map((value) => {
    const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
    return text.length > 60 ? `${text.slice(0, 57).toWellFormed()}...` : text;
  });
  if (values.length > shownValues.length)
    shownValues.push(`${values.length - shownValues.length} more`);
  return shownValues.join(', ');
}
