import { elementTest } from '../../memory/match/row-test.js';
import { fieldExpression, elementStatement } from '../../sql/dialect/statement.js';
import { nsPerRow, rowCost, sumOfCosts } from '../predicate-cost.js';
import { unsupportedBecause, type PredicateKind } from './kind.js';
import { allConditionsIn, type CaseVariants, type PredicateOfKind } from '../predicate.js';
import { columnFinder } from './segment-column.js';
import { isInlineList } from './equality.js';
import { readsTextIndex } from './indexed-terms.js';

type AnyCondition = PredicateOfKind<'any'>;

/**
 * The predicate kind `any`: one element of a list of objects satisfies the inner conditions. Choice: a null element does not count as an
 * element, and an element without a field satisfies negated conditions on it.
 */
export const any: PredicateKind<AnyCondition> = {
  fields({ field, item }, fieldsOf) {
    const fieldsInside = fieldsOf(item);
    return fieldsInside.length > 0 ? fieldsInside : [field];
  },
  cost: ({ item }, costOf) => sumOfCosts([costOf(item), rowCost(nsPerRow.numbers)]),
  needsWholeSegment: () => true,
  memorySupport({ field, item }, { column, memorySupport }) {
    const storedColumn = column(field);
    if (storedColumn !== undefined && (storedColumn.type !== 'object' || !storedColumn.isList))
      return unsupportedBecause(`${field.name} is not stored as a list of objects`);
    return allConditionsIn(item).some(readsTextIndex)
      ? unsupportedBecause(`the index of terms does not tell the elements of ${field.name}`)
      : memorySupport(item);
  },
  // The log has no bounds of values inside lists, but shows which fields a segment has.
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
      const conditionInside = within(elementStatement(statement, field, column, element));
      return `${dialect.present(element, column)} AND ${conditionInside.sql(item)}`;
    };
    const isByRow = needsRowEvaluation(predicate, statement.caseVariants);
    return `(${isByRow ? dialect.someRow(sql, test) : dialect.some(sql, test)})`;
  },
  mayNeedJoin: needsRowEvaluation,
  memory: ({ field, item }, { rowTest }) => elementTest(field, rowTest(item)),
  // Documents of the catalog have no lists of objects, so no search has this condition.
  document: () => () => false,
  requirement: ({ field, item }) => ({ element: { list: field, item } }),
  describe: ({ field, item }, describe) => `any ${field.name} with ${describe(item)}`,
};

/** Returns true if an inner condition is written as a subquery, which an SQL lambda cannot contain. */
function needsRowEvaluation({ item }: AnyCondition, caseVariants: CaseVariants): boolean {
  return allConditionsIn(item).some(
    (condition) => condition.kind === 'in' && !isInlineList(condition, caseVariants),
  );
}
