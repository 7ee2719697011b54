import type { Snapshot, RowRef } from '../../store/store.js';
import type { Selection } from '../executor/executor.js';
import type { Position } from '../request/position.js';
import type { CaseVariants, Predicate } from '../predicate/predicate.js';
import { compilePredicate, mayNeedJoin } from './compile-predicate.js';
import {
  afterCursor,
  cursorPositionOfRow,
  withoutFinishedFiles,
  type SortKey,
} from './sql-cursor.js';
import type { DialectFactory } from './dialect/dialect.js';
import { paramTypeOf } from './dialect/params.js';
import { relevanceSql } from './relevance-sql.js';
import {
  fieldExpression,
  newStatement,
  type SelectStatement,
  type Statement,
} from './dialect/statement.js';

/** The SQL statement of a page. Each row of its result refers to a record; with a cursor, it also has the sort keys. */
interface RowsSelect extends SelectStatement {
  /** Returns the row reference in a row of the result; the `_id` if the dialect has no row numbers. */
  rowOf(row: readonly unknown[]): RowRef | string;
  /** Returns the cursor position after a row of the result. */
  positionOf(row: readonly unknown[]): Position;
}

/**
 * Returns the SQL statement that finds the rows of a page in their order. `scope` is the snapshot; without a cursor, it may lack pruned
 * segments.
 */
export function rowsSelectStatement(
  scope: Snapshot,
  selection: Selection,
  caseVariants: CaseVariants,
  language: DialectFactory,
): RowsSelect {
  const { predicate, cursor, offset } = selection;
  const isSorted =
    selection.ordering.length > 0 ||
    selection.scoreClauses.length > 0 ||
    scope.isInterleaved === true;
  const { snapshot, skipped } = withoutFinishedFiles(scope, cursor, isSorted);
  const statement = newStatement(snapshot, caseVariants, language);
  const { dialect, params, source } = statement;
  const keys = snapshot.rows === 0 ? [] : sortKeysOf(statement, selection);
  const where = compilePredicate(statement, predicate);
  const cursorCondition = cursor?.after
    ? ` AND ${afterCursor(statement, keys, cursor.after, skipped)}`
    : '';
  const ref = dialect.rowRef();
  const order = snapshot.rows === 0 ? '' : orderBySql(statement, keys, predicate);
  const limit = hasFiniteLimit(selection)
    ? ` LIMIT ${params.add('long', BigInt(selection.limit))}`
    : '';
  const from = offset > 0 ? ` OFFSET ${params.add('long', BigInt(offset))}` : '';
  const values = [...(cursor ? keys.map(({ sql }) => sql) : []), ref.file, ref.row];
  return {
    sql: `SELECT ${values.join(', ')} FROM ${source} WHERE ${where}${cursorCondition}${order}${limit}${from}`,
    params: params.boundValues,
    rowOf: (row) => {
      const [file, at] = row.slice(-2) as [bigint | number, bigint | number | string];
      return typeof at === 'string' ? at : [Number(file) + skipped - 1, Number(at)];
    },
    positionOf: (row) => cursorPositionOfRow(row, keys, skipped),
  };
}

/** Returns whether a page has a limit; `Number.MAX_SAFE_INTEGER` stands for none. */
function hasFiniteLimit({ limit }: Pick<Selection, 'limit'>): boolean {
  return Number.isFinite(limit) && limit < Number.MAX_SAFE_INTEGER;
}

/** Returns the SQL statement that counts the matching records. */
export function countSelectStatement(
  snapshot: Snapshot,
  predicate: Predicate,
  caseVariants: CaseVariants,
  language: DialectFactory,
): SelectStatement {
  const statement = newStatement(snapshot, caseVariants, language);
  const where = compilePredicate(statement, predicate);
  return {
    sql: `SELECT count(*) FROM ${statement.source} WHERE ${where}`,
    params: statement.params.boundValues,
  };
}

/**
 * Returns the ORDER BY clause; empty if there are no sort keys and the engine itself keeps insertion order, because it then stops reading
 * when the page is full.
 */
function orderBySql(
  { dialect, caseVariants }: Statement,
  keys: readonly SortKey[],
  predicate: Predicate,
): string {
  if (keys.length === 0 && dialect.keepsOrder && !mayNeedJoin(predicate, caseVariants)) return '';
  const list = keys.map(
    ({ sql, descending }) => `${sql} ${descending ? 'DESC' : 'ASC'} NULLS LAST`,
  );
  return ` ORDER BY ${[...list, dialect.insertionOrder()].join(', ')}`;
}

/**
 * Returns the sort keys of an ordering or a ranking. In an interleaved snapshot, an ordering ends with the row id, and the row id is the
 * only key if nothing is ordered or ranked. A list sorts by its smallest element ascending and by its largest descending.
 */
function sortKeysOf(
  statement: Statement,
  { ordering, scoreClauses }: Pick<Selection, 'ordering' | 'scoreClauses'>,
): readonly SortKey[] {
  const { dialect } = statement;
  const { rowId } = dialect;
  const last: readonly SortKey[] =
    rowId === undefined ? [] : [{ sql: rowId, descending: false, type: 'long' }];
  if (ordering.length === 0) {
    const score = relevanceSql(statement, scoreClauses);
    return score === undefined ? last : [{ sql: score, descending: true, type: 'double' }];
  }
  const keys = ordering.flatMap(({ field, descending }): SortKey[] => {
    const expression = fieldExpression(statement, field);
    if (!expression) return [];
    const sql = !expression.isMany
      ? expression.sql
      : descending
        ? dialect.largest(expression.sql)
        : dialect.smallest(expression.sql);
    return [{ sql, descending, type: paramTypeOf({ ...field, type: expression.type }) }];
  });
  return [...keys, ...last];
}
