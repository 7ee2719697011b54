import { lengthTest } from '../../memory/match/row-test.js';
import { fieldExpression } from '../../sql/dialect/statement.js';
import { nsPerRow, rowCost } from '../predicate-cost.js';
import type { PredicateKind } from './kind.js';
import type { PredicateOfKind } from '../predicate.js';
import { columnFinder } from './segment-column.js';
import { presenceSupport } from './missing.js';

type LengthCondition = PredicateOfKind<'length'>;

/**
 * The predicate kind `length`: the number of values of a field lies in a range. Choice: `__length` counts the values of a list without its
 * nulls, so a list that contains only nulls has length 0, like a record without the field; a field that is not a list has length 1 if it
 * has a value; and a field inside a list of objects has the values of all these objects.
 */
export const length: PredicateKind<LengthCondition> = {
  fields: ({ field }) => [field],
  cost: () => rowCost(nsPerRow.numbers),
  needsWholeSegment: () => false,
  memorySupport: ({ field }, context) => presenceSupport(field, context),
  mayHold(condition) {
    const find = columnFinder(condition.field);
    const [isEmptyIn, isOneIn] = [isCountInRange(condition, 0), isCountInRange(condition, 1)];
    const isLongIn = condition.to === null || condition.to > 0;
    return (segment) => {
      const column = find(segment);
      if (column === 'unknown') return true;
      if (column === 'absent') return isEmptyIn;
      const { nulls } = column.stats;
      // The number of nulls in the statistics of a list counts null lists, but not empty ones.
      if ((nulls ?? 0) >= segment.rows) return isEmptyIn;
      if (column.isList) return isLongIn || isEmptyIn;
      return isOneIn || (isEmptyIn && nulls !== 0);
    };
  },
  mustHold(condition) {
    const find = columnFinder(condition.field);
    const [isEmptyIn, isOneIn] = [isCountInRange(condition, 0), isCountInRange(condition, 1)];
    return (segment) => {
      const column = find(segment);
      if (column === 'unknown') return false;
      if (column === 'absent' || (column.stats.nulls ?? 0) >= segment.rows) return isEmptyIn;
      if (column.isList) return isEmptyIn && condition.to === null;
      return isOneIn && (isEmptyIn || column.stats.nulls === 0);
    };
  },
  sql(condition, { statement: { dialect, params }, statement }) {
    const { field, from, to } = condition;
    const [isEmptyIn, isOneIn] = [isCountInRange(condition, 0), isCountInRange(condition, 1)];
    const values = fieldExpression(statement, field);
    if (values === undefined) return String(isEmptyIn);
    const { sql, column, isMany } = values;
    if (!isMany) {
      if (isEmptyIn === isOneIn) return String(isOneIn);
      return isOneIn ? dialect.present(sql, column) : dialect.missing(sql, column);
    }
    const count = dialect.listCount(sql, column);
    const bounds = from > 0 ? [`${count} >= ${params.add('long', BigInt(from))}`] : [];
    if (to !== null) bounds.push(`${count} <= ${params.add('long', BigInt(to))}`);
    return bounds.length === 0 ? 'true' : `(${bounds.join(' AND ')})`;
  },
  memory: ({ field, from, to }) => lengthTest(field, from, to ?? Infinity),
  document: (condition, { valueCount }) =>
    valueCount(condition.field, (count) => isCountInRange(condition, count)),
  requirement: () => ({}),
  describe({ field, from, to }) {
    const name = `length of ${field.name}`;
    if (to === null) return `${name} >= ${from}`;
    return from === to ? `${name} = ${from}` : `${name} from ${from} to ${to}`;
  },
};

function isCountInRange({ from, to }: LengthCondition, count: number): boolean {
  return count >= from && (to === null || count <= to);
}
