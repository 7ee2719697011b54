import type { FieldRow } from '../catalog/rows.js';
import type { Snapshot } from '../store/store.js';
import { compile, joins } from './compile.js';
import type { Param } from './params.js';
import { project, type Projected } from './projection.js';
import { recordJson } from './record-json.js';
import { relevance } from './relevance.js';
import type { QueryRequest } from './request.js';
import { access, begin, type Spellings, type Statement } from './statement.js';

/** A statement ready to run. */
export interface Select {
  readonly sql: string;
  readonly params: readonly Param[];
}

/** The page of a query: one row per record, its JSON text. */
export function pageSelect(
  snapshot: Snapshot,
  rows: readonly FieldRow[],
  request: QueryRequest,
  spellings?: Spellings,
): Select {
  const statement = begin(snapshot, spellings);
  const projection = project(snapshot.columns, rows, request);
  const page = pageRows(statement, snapshot, request, projection);
  return {
    sql: `SELECT ${recordJson(statement.dialect, projection)} FROM ${page}`,
    params: statement.params.list,
  };
}

/** The number of matching records. */
export function countSelect(
  snapshot: Snapshot,
  request: QueryRequest,
  spellings?: Spellings,
): Select {
  const statement = begin(snapshot, spellings);
  const where = compile(statement, request.predicate);
  return {
    sql: `SELECT count(*) FROM ${statement.source} WHERE ${where}`,
    params: statement.params.list,
  };
}

/**
 * The rows of a page as a relation named `r` of the stored columns of `projection`. Whatever is computed for the answer is
 * computed outside it, for the page's rows alone.
 */
export function pageRows(
  statement: Statement,
  snapshot: Snapshot,
  request: QueryRequest,
  projection: readonly Projected[],
): string {
  const { dialect, params, source } = statement;
  const where = compile(statement, request.predicate);
  const columns = projection
    .filter(({ isStored }) => isStored)
    .map(({ column }) => dialect.column(column.physical));
  const order = orderBy(statement, snapshot, request);
  const limit = Number.isFinite(request.limit) && request.limit < Number.MAX_SAFE_INTEGER;
  return `(SELECT ${columns.length > 0 ? columns.join(', ') : '1'} FROM ${source} WHERE ${where}${order}${
    limit ? ` LIMIT ${params.add('long', BigInt(request.limit))}` : ''
  }${request.offset > 0 ? ` OFFSET ${params.add('long', BigInt(request.offset))}` : ''}) AS r`;
}

/**
 * Without an ordering the engine keeps the files' order by itself, and stops reading when the page is full. List fields order
 * by their smallest element ascending and their largest descending.
 */
function orderBy(statement: Statement, snapshot: Snapshot, request: QueryRequest): string {
  if (snapshot.rows === 0) return '';
  const { dialect } = statement;
  const keys = request.ordering.flatMap(({ field, descending }) => {
    const values = access(statement, field);
    if (!values) return [];
    const key = !values.isMany
      ? values.sql
      : descending
        ? dialect.largest(values.sql)
        : dialect.smallest(values.sql);
    return [`${key} ${descending ? 'DESC' : 'ASC'} NULLS LAST`];
  });
  if (request.ordering.length === 0) keys.push(...relevance(statement, request.scores));
  if (keys.length === 0)
    return joins(request.predicate) ? ` ORDER BY ${dialect.insertionOrder()}` : '';
  return ` ORDER BY ${keys.join(', ')}, ${dialect.insertionOrder()}`;
}
