import type { SqlContext } from '../predicate/kinds/kind.js';
import { kindOf } from '../predicate/kinds/index.js';
import { conditionsIn, type CaseVariants, type Predicate } from '../predicate/predicate.js';
import type { Statement } from './dialect/statement.js';

/**
 * Returns the predicate as an SQL condition. A positive condition may be null if a value is missing; a negated one is then true, because it
 * uses `IS NOT TRUE` or the negated SQL of its kind.
 */
export function compilePredicate(statement: Statement, predicate: Predicate): string {
  return sqlContextOf(statement).sql(predicate);
}

function sqlContextOf(statement: Statement): SqlContext {
  const context: SqlContext = {
    statement,
    sql: (item) => kindOf(item).sql(item, context),
    negatedSql(item) {
      const kind = kindOf(item);
      return kind.negatedSql?.(item, context) ?? `(${context.sql(item)}) IS NOT TRUE`;
    },
    within: sqlContextOf,
  };
  return context;
}

/** Returns true if the SQL engine may evaluate a condition of the predicate by a join, which may not keep the order of the files. */
export function mayNeedJoin(predicate: Predicate, caseVariants: CaseVariants): boolean {
  return conditionsIn(predicate).some((one) => kindOf(one).mayNeedJoin?.(one, caseVariants));
}
