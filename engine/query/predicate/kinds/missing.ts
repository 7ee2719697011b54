import { missingTest } from '../../memory/match/row-test.js';
import { fieldExpression } from '../../sql/dialect/statement.js';
import { nsPerRow, rowCost } from '../predicate-cost.js';
import {
  supported,
  unsupportedBecause,
  type PredicateKind,
  type MemorySupport,
  type SqlContext,
  type SupportContext,
} from './kind.js';
import type { FieldRef, PredicateOfKind } from '../predicate.js';
import { columnFinder } from './segment-column.js';

/** The predicate kind `missing`: the field has no value. Choice: a list whose elements are all null is missing, too. */
export const missing: PredicateKind<PredicateOfKind<'missing'>> = {
  fields: ({ field }) => [field],
  cost: () => rowCost(nsPerRow.presence),
  needsWholeSegment: () => false,
  memorySupport: ({ field }, context) => presenceSupport(field, context),
  mayHold({ field }) {
    const find = columnFinder(field);
    return (segment) => {
      const column = find(segment);
      return typeof column === 'string' || column.isList || column.stats.nulls !== 0;
    };
  },
  mustHold({ field }) {
    const find = columnFinder(field);
    return (segment) => {
      const column = find(segment);
      if (typeof column === 'string') return column === 'absent';
      return (column.stats.nulls ?? 0) >= segment.rows;
    };
  },
  countByStatistics({ field }) {
    const find = columnFinder(field);
    return (segment) => {
      const column = find(segment);
      if (column === 'absent') return segment.rows;
      // The nulls of a list do not include empty lists, and a text that is no number counts as missing.
      return column === 'unknown' || column.isList || field.isNumberInText ? undefined : column.stats.nulls; // prettier-ignore
    };
  },
  sql: ({ field }, context) => missingSql(field, context, false),
  // The SQL of this condition is never null, and the statistics of row groups can answer it.
  negatedSql: ({ field }, context) => missingSql(field, context, true),
  memory: ({ field }) => missingTest(field),
  document: ({ field }, { valueCount }) => valueCount(field, (count) => count === 0),
  requirement: () => ({ isMissing: true }),
  describe: ({ field }) => `${field.name} is missing`,
};

/** Returns whether the memory executor can tell which records have values of a field. */
export function presenceSupport(field: FieldRef, { column }: SupportContext): MemorySupport {
  if (field.isNumberInText) return unsupportedBecause(`${field.name} stores numbers as strings`);
  // The columns of an object's members do not show whether the object itself is null.
  return column(field)?.type === 'object'
    ? unsupportedBecause(`${field.name} is an object, which has no column of its own`)
    : supported;
}

function missingSql(field: FieldRef, { statement }: SqlContext, isNegated: boolean): string {
  const { dialect } = statement;
  const values = fieldExpression(statement, field);
  if (values === undefined) return isNegated ? 'false' : 'true';
  const { sql, column } = values;
  if (values.isMany) return `${isNegated ? 'NOT ' : ''}(${dialect.listMissing(sql, column)})`;
  return isNegated ? dialect.present(sql, column) : dialect.missing(sql, column);
}
