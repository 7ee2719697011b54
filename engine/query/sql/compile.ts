import type { SqlContext } from '../predicate/kind.js';
import { needsRows } from '../predicate/kinds/any.js';
import { kindOf } from '../predicate/kinds.js';
import { conditionsIn, type CaseVariants, type Predicate } from '../predicate/predicate.js';
import type { Statement } from './statement.js';

/**
 * The predicate as an SQL condition. A positive condition may be null where a value is missing; a negated one is written with
 * `IS NOT TRUE`, so that it is true there.
 */
export function compilePredicate(statement: Statement, predicate: Predicate): string {
  return contextOf(statement).sql(predicate);
}

function contextOf(statement: Statement): SqlContext {
  const context: SqlContext = {
    statement,
    sql: (item) => kindOf(item).sql(item, context),
    negatedSql(item) {
      const kind = kindOf(item);
      return kind.negatedSql?.(item, context) ?? `(${context.sql(item)}) IS NOT TRUE`;
    },
    within: contextOf,
  };
  return context;
}

/**
 * True if the SQL engine may evaluate the predicate by a join, which may not keep the order of the files: DuckDB joins every list of
 * five or more values, and then sometimes returns records of a later file first.
 */
export function needsJoin(predicate: Predicate, caseVariants: CaseVariants): boolean {
  return conditionsIn(predicate).some(
    (condition) =>
      (condition.kind === 'any' && needsRows(condition)) ||
      (condition.kind === 'in' && (caseVariants.get(condition) ?? condition.values).length > 1),
  );
}
