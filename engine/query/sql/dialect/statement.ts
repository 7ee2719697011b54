import { reservedColumns } from '../../../store/arrow-columns.js';
import type { Snapshot } from '../../../store/store.js';
import type { Column, Columns, StoredType } from '../../../core/types.js';
import type { Dialect, DialectFactory } from './dialect.js';
import { duckdbDialect } from './duckdb.js';
import type { CaseVariants, FieldRef, Predicate } from '../../predicate/predicate.js';
import { BoundParams, type Param } from './params.js';

/** A statement ready to run. */
export interface SelectStatement {
  readonly sql: string;
  readonly params: readonly Param[];
}

/** Runs a statement and returns its rows. */
export type RunSelect = (select: SelectStatement) => Promise<readonly (readonly unknown[])[]>;

/** The state that all statements of one query share. */
export interface SqlSession {
  readonly language: DialectFactory;
  /** The snapshot without the segments that, by their statistics, contain no match. */
  readonly scope: Snapshot;
  /** The stored case variants of the values in the predicate, as far as they are known. */
  readonly caseVariants: CaseVariants;
  readonly rows: RunSelect;
  /** Finds the stored case variants of the values in another predicate. */
  findCaseVariants(predicate: Predicate): Promise<CaseVariants>;
}

/** The state that all parts of one statement share. */
export interface Statement {
  readonly dialect: Dialect;
  readonly params: BoundParams;
  readonly columns: Columns;
  readonly caseVariants: CaseVariants;
  /** Columns of type double, outside lists, that a segment stores as narrower numbers; each is a physical path with one name per line. */
  readonly widened: ReadonlySet<string>;
  /** The relation for the FROM clause: the snapshot's records, named `dialect.relation`. */
  readonly source: string;
  /** The element of a list to which the conditions apply; absent for conditions on the record. */
  readonly element?: {
    readonly list: FieldRef;
    readonly sql: string;
    readonly members: Columns;
  };
}

/** Begins a statement over one version of a dataset. */
export function newStatement(
  snapshot: Snapshot,
  caseVariants: CaseVariants = new Map(),
  language: DialectFactory = duckdbDialect,
): Statement {
  const dialect = language(snapshot.columns);
  const params = new BoundParams(dialect.bound);
  const source = dialect.source(snapshot, params);
  return {
    dialect,
    params,
    columns: [...reservedColumns, ...snapshot.columns],
    caseVariants,
    widened: widenedColumns(snapshot),
    source,
  };
}

const widenedColumnsBySnapshot = new WeakMap<Snapshot, ReadonlySet<string>>();

function widenedColumns(snapshot: Snapshot): ReadonlySet<string> {
  const cachedColumns = widenedColumnsBySnapshot.get(snapshot);
  if (cachedColumns !== undefined) return cachedColumns;
  const widenedPaths = new Set<string>();
  widenedColumnsBySnapshot.set(snapshot, widenedPaths);
  const visit = (columns: Columns, stored: Columns, prefix: string): void => {
    for (const { physical, type, isList, children } of columns) {
      const storedColumn = stored.find((column) => column.physical === physical);
      if (storedColumn === undefined || isList) continue;
      if (type === 'double' && storedColumn.type !== type) widenedPaths.add(prefix + physical);
      if (children) visit(children, storedColumn.children ?? [], `${prefix}${physical}\n`);
    }
  };
  for (const columns of new Set(snapshot.segments.map((segment) => segment.columns)))
    if (columns !== snapshot.columns) visit(snapshot.columns, columns, '');
  return widenedPaths;
}

/** Returns the statement for conditions on one element of a list of objects; the expression `sql` yields the element. */
export function elementStatement(
  statement: Statement,
  list: FieldRef,
  column: Column,
  sql: string,
): Statement {
  return { ...statement, element: { list, sql, members: column.children ?? [] } };
}

/** The SQL expression of a field. */
export interface FieldExpression {
  readonly sql: string;
  /** True if the expression yields a list of the field's values. */
  readonly isMany: boolean;
  readonly type: StoredType;
  /** The column that stores the values. */
  readonly column: Column;
}

/** Returns the SQL expression of a field; undefined if no record stores the field. */
export function fieldExpression(
  statement: Statement,
  field: FieldRef,
): FieldExpression | undefined {
  const { dialect, element } = statement;
  let siblings: Columns | undefined = element?.members ?? statement.columns;
  let reached: FieldExpression | undefined;
  const physical: string[] = [];
  for (const name of field.path.slice(element?.list.path.length ?? 0)) {
    const column: Column | undefined = siblings?.find((candidate) => candidate.name === name);
    if (!column) return undefined;
    reached = reached
      ? memberExpression(dialect, reached, column)
      : rootExpression(statement, column);
    siblings = column.children;
    physical.push(column.physical);
  }
  // DuckDB casts the bounds of a condition on a plain column to the column's type in each file, so that 0.5 would become 0 in a file with
  // integers.
  if (reached && statement.widened.has(physical.join('\n')) && element === undefined)
    return { ...reached, sql: `(${reached.sql} + 0)` };
  if (reached && field.isNumberInText)
    return { ...reached, sql: numberInTextExpression(dialect, reached), type: 'double' };
  return reached;
}

function numberInTextExpression(dialect: Dialect, { sql, isMany }: FieldExpression): string {
  return isMany ? dialect.each(sql, (element) => dialect.number(element)) : dialect.number(sql);
}

function rootExpression({ dialect, element }: Statement, column: Column): FieldExpression {
  const sql = element
    ? dialect.member(element.sql, column.physical)
    : dialect.column(column.physical);
  return { sql, isMany: column.isList, type: column.type, column };
}

/** Returns the expression of an object's member; for a list of objects, the list of the members' values. */
function memberExpression(
  dialect: Dialect,
  object: FieldExpression,
  column: Column,
): FieldExpression {
  if (!object.isMany) {
    // Plain member access is used, because DuckDB prunes row groups by conditions on it.
    return {
      sql: dialect.member(object.sql, column.physical),
      isMany: column.isList,
      type: column.type,
      column,
    };
  }
  const members = dialect.each(object.sql, (element) => dialect.member(element, column.physical));
  return {
    sql: column.isList ? dialect.flatten(members) : members,
    isMany: true,
    type: column.type,
    column,
  };
}
