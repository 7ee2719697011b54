import { reservedColumns } from '../../store/arrow.js';
import type { Snapshot } from '../../store/store.js';
import type { Column, Columns, StoredType } from '../../core/types.js';
import type { Dialect, Language } from './dialect.js';
import { duckdb } from './duckdb.js';
import type { CaseVariants, FieldRef } from '../predicate/predicate.js';
import { Params, type Param } from './params.js';

/** A statement ready to run. */
export interface Select {
  readonly sql: string;
  readonly params: readonly Param[];
}

/** The state that all parts of one statement share. */
export interface Statement {
  readonly dialect: Dialect;
  readonly params: Params;
  readonly columns: Columns;
  readonly caseVariants: CaseVariants;
  /** The FROM clause: the snapshot's records, named `dialect.relation`. */
  readonly source: string;
}

/** Begins a statement over one version of a dataset. */
export function begin(
  snapshot: Snapshot,
  caseVariants: CaseVariants = new Map(),
  language: Language = duckdb,
): Statement {
  const dialect = language(snapshot.columns);
  const params = new Params(dialect.bound);
  const source = dialect.source(snapshot, params);
  return {
    dialect,
    params,
    columns: [...reservedColumns, ...snapshot.columns],
    caseVariants,
    source,
  };
}

/** The SQL expression of a field. */
export interface Access {
  readonly sql: string;
  /** True if the expression yields a list of the field's values. */
  readonly isMany: boolean;
  readonly type: StoredType;
  /** The column that stores the values. */
  readonly column: Column;
}

/** The SQL expression of a field; undefined if no record stores the field. */
export function access(statement: Statement, field: FieldRef): Access | undefined {
  const { dialect } = statement;
  let siblings: Columns | undefined = statement.columns;
  let reached: Access | undefined;
  for (const name of field.path) {
    const column: Column | undefined = siblings?.find((candidate) => candidate.name === name);
    if (!column) return undefined;
    reached = reached ? step(dialect, reached, column) : root(dialect, column);
    siblings = column.children;
  }
  if (reached && field.isNumberInText)
    return { ...reached, sql: numbersOf(dialect, reached), type: 'double' };
  return reached;
}

function numbersOf(dialect: Dialect, { sql, isMany }: Access): string {
  return isMany ? dialect.each(sql, (element) => dialect.number(element)) : dialect.number(sql);
}

function root(dialect: Dialect, column: Column): Access {
  const sql = dialect.column(column.physical);
  return { sql, isMany: column.isList, type: column.type, column };
}

/** The member of an object; of a list of objects, the list of all their members' values. */
function step(dialect: Dialect, object: Access, column: Column): Access {
  if (!object.isMany) {
    // Plain member access, because DuckDB prunes row groups by conditions on it.
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
