import { reservedColumns } from '../store/arrow.js';
import type { Snapshot } from '../store/store.js';
import type { Column, Columns, StoredType } from '../types.js';
import type { Dialect } from './dialect.js';
import { duckdb } from './duckdb.js';
import type { FieldRef, Predicate } from './predicate.js';
import { Params } from './params.js';

/** The stored values that a comparison without letter case finds, where they are known (spellings.ts). */
export type Spellings = ReadonlyMap<Predicate, readonly string[]>;

/** What all parts of one statement share. */
export interface Statement {
  readonly dialect: Dialect;
  readonly params: Params;
  readonly columns: Columns;
  readonly spellings: Spellings;
  /** What stands after FROM: the snapshot's files under the name `r`. */
  readonly source: string;
}

/** Begins a statement over one version of a dataset. */
export function begin(snapshot: Snapshot, spellings: Spellings = new Map()): Statement {
  const dialect = duckdb(snapshot.columns);
  const params = new Params();
  const source =
    snapshot.rows === 0 ? dialect.empty() : dialect.files(params.add('string', snapshot.files));
  return { dialect, params, columns: [...reservedColumns, ...snapshot.columns], spellings, source };
}

/** How a field's values are reached: an expression, and whether it yields a list of them. */
export interface Access {
  readonly sql: string;
  readonly isMany: boolean;
  readonly type: StoredType;
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
    return { ...reached, sql: dialect.number(reached.sql), type: 'double' };
  return reached;
}

function root(dialect: Dialect, column: Column): Access {
  return { sql: dialect.column(column.physical), isMany: column.isList, type: column.type };
}

/** Into an object, or into every object of a list: then all their values together. */
function step(dialect: Dialect, object: Access, column: Column): Access {
  if (!object.isMany) {
    // Plain member access: DuckDB takes conditions on it into the row groups' statistics.
    return {
      sql: dialect.member(object.sql, column.physical),
      isMany: column.isList,
      type: column.type,
    };
  }
  const members = dialect.each(object.sql, (element) => dialect.member(element, column.physical));
  return {
    sql: column.isList ? dialect.flatten(members) : members,
    isMany: true,
    type: column.type,
  };
}
