import { elementTest } from '../../memory/match/row-test.js';
import { fieldExpression, inElement } from '../../sql/statement.js';
import { nsPerRow, rowCost, sumOf } from '../cost.js';
import { unsupported, type PredicateKind } from '../kind.js';
import { conditionsIn, type OfKind, type Predicate } from '../predicate.js';
import { columnFinder } from '../segment-column.js';
import { isWrittenOut } from './equality.js';

type Any = OfKind<'any'>;

/**
 * One element of a list of objects satisfies the conditions inside. Choice: an element that is null is no element, and one without the
 * field satisfies its negated conditions.
 */
export const any: PredicateKind<Any> = {
  fields({ field, item }, fieldsOf) {
    const inside = fieldsOf(item);
    return inside.length > 0 ? inside : [field];
  },
  cost: ({ item }, costOf) => sumOf([costOf(item), rowCost(nsPerRow.numbers)]),
  memorySupport({ field, item }, { column, memorySupport }) {
    const stored = column(field);
    if (stored !== undefined && (stored.type !== 'object' || !stored.isList))
      return unsupported(`${field.name} is not stored as a list of objects`);
    const indexed = conditionsInside(item).find(
      ({ kind, field: { type } }) => type === 'text' && (kind === 'terms' || kind === 'phrase'),
    );
    return indexed === undefined
      ? memorySupport(item)
      : unsupported(`the index of terms does not tell the elements of ${field.name}`);
  },
  // The log has no bounds of values inside lists, but it tells which fields a segment has.
  mayHold({ field, item }, { mayHold }) {
    const find = columnFinder(field);
    const test = mayHold(item);
    return (segment) => find(segment) !== 'absent' && test(segment);
  },
  mustHold: () => () => false,
  sql(predicate, { statement, within }) {
    const { field, item } = predicate;
    const { dialect } = statement;
    const list = fieldExpression(statement, field);
    if (list === undefined || !list.isMany) return 'false';
    const { sql, column } = list;
    const test = (element: string): string => {
      const inside = within(inElement(statement, field, column, element));
      return `${dialect.present(element, column)} AND ${inside.sql(item)}`;
    };
    return `(${needsRows(predicate) ? dialect.someRow(sql, test) : dialect.some(sql, test)})`;
  },
  memory: ({ field, item }, { rowTest }) => elementTest(field, rowTest(item)),
  // Documents have no lists of objects, so no search has this condition.
  document: () => () => false,
  requiredStrings: () => [],
  describe: ({ field, item }, describe) => `any ${field.name} with ${describe(item)}`,
};

/** True if a condition inside is written as a subquery, which a lambda cannot hold. */
export function needsRows({ item }: Any): boolean {
  return conditionsInside(item).some(
    (condition) => condition.kind === 'in' && !isWrittenOut(condition),
  );
}

/** The conditions of a predicate with those on elements of its lists. */
function conditionsInside(predicate: Predicate): ReturnType<typeof conditionsIn> {
  return conditionsIn(predicate).flatMap((condition) =>
    condition.kind === 'any' ? [condition, ...conditionsInside(condition.item)] : [condition],
  );
}
