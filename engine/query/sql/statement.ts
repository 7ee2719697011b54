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

/** What all parts of one statement share. */
export interface Statement {
  readonly dialect: Dialect;
  readonly params: Params;
  readonly columns: Columns;
  readonly caseVariants: CaseVariants;
  /** What stands after FROM: the snapshot's records as `dialect.relation`. */
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

/** How a field's values are reached: an expression, and whether it yields a list of them. */
export interface Access {
  readonly sql: string;
  readonly isMany: boolean;
  readonly type: StoredType;
  /** Where the values are stored. */
  readonly column: Column;
}

/** The expression of a field; undefined if no record stores it. */
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

/** Into an object, or into every object of a list: then all their values together. */
function step(dialect: Dialect, object: Access, column: Column): Access {
  if (!object.isMany) {
    // Plain member access: DuckDB takes conditions on it into the row groups' statistics.
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
