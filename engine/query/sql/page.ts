import type { DatasetField } from '../../core/dataset-field.js';
import type { Snapshot } from '../../store/store.js';
import { boundType, compile, joins } from './compile.js';
import { behind, positionOf, remaining, type Position, type SortKey, type Walk } from './cursor.js';
import type { Dialect, Language } from './dialect.js';
import type { Param } from './params.js';
import type { Predicate } from '../predicate/predicate.js';
import { project, type Projected } from '../results/projection.js';
import { recordJson } from './record-json.js';
import { relevance } from '../text/relevance.js';
import type { QueryRequest } from '../request/request.js';
import { access, begin, type Spellings, type Statement } from './statement.js';

/** A statement ready to run. */
export interface Select {
  readonly sql: string;
  readonly params: readonly Param[];
}

/** The page of a query: one row per record, its JSON text; in a walk also its sort keys and its place. */
export function pageSelect(
  snapshot: Snapshot,
  rows: readonly DatasetField[],
  request: QueryRequest,
  spellings?: Spellings,
  language?: Language,
): Select & { positionOf(row: readonly unknown[]): Position } {
  const statement = begin(snapshot, spellings, language);
  const projection = project(snapshot.columns, rows, request);
  if (!request.walk) {
    const page = pageRows(statement, snapshot, request, projection);
    const sql = `SELECT ${recordJson(statement.dialect, projection)} FROM ${page}`;
    return { sql, params: statement.params.list, positionOf: noPosition };
  }
  return walkSelect(snapshot, request, request.walk, projection, spellings, language);
}

function noPosition(): never {
  throw new Error('this page is no part of a walk');
}

function walkSelect(
  whole: Snapshot,
  request: QueryRequest,
  walk: Walk,
  projection: readonly Projected[],
  spellings?: Spellings,
  language?: Language,
): ReturnType<typeof pageSelect> {
  const isSorted = request.ordering.length > 0 || request.scores.length > 0;
  const { snapshot, skipped } = remaining(whole, walk, isSorted);
  const statement = begin(snapshot, spellings, language);
  const { dialect, params, source } = statement;
  const keys = sortKeys(statement, request);
  const where = compile(statement, request.predicate);
  const after = walk.after ? ` AND ${behind(statement, keys, walk.after, skipped)}` : '';
  const place = dialect.place();
  const order = orderBy(statement, keys, request.predicate);
  const limit = params.add('long', BigInt(request.limit));
  const values = [...keys.map(({ sql }) => sql), place.file, place.row];
  const extra = values.map((sql, i) => `${sql} AS ${dialect.extra(i)}`);
  const columns = storedColumns(dialect, projection);
  const page = `(SELECT ${[...columns, ...extra].join(', ')} FROM ${source} WHERE ${where}${after}${order} LIMIT ${limit}) AS ${dialect.relation}`;
  const shown = values.map((_, i) => `${dialect.relation}.${dialect.extra(i)}`);
  return {
    sql: `SELECT ${[recordJson(dialect, projection), ...shown].join(', ')} FROM ${page}`,
    params: params.list,
    positionOf: (row) => positionOf(row, keys, skipped),
  };
}

/** The number of matching records. */
export function countSelect(
  snapshot: Snapshot,
  request: QueryRequest,
  spellings?: Spellings,
  language?: Language,
): Select {
  const statement = begin(snapshot, spellings, language);
  const where = compile(statement, request.predicate);
  return {
    sql: `SELECT count(*) FROM ${statement.source} WHERE ${where}`,
    params: statement.params.list,
  };
}

/**
 * The rows of a page as the relation `dialect.relation` of the stored columns of `projection`. Whatever is computed for the answer is
 * computed outside it, for the page's rows alone.
 */
export function pageRows(
  statement: Statement,
  snapshot: Snapshot,
  request: QueryRequest,
  projection: readonly Projected[],
): string {
  const { dialect, params, source } = statement;
  const columns = storedColumns(dialect, projection);
  if (request.places) {
    const list = columns.length > 0 ? columns.join(', ') : '1';
    if (request.places.length === 0) return `(SELECT ${list} FROM ${source} WHERE false) AS ${dialect.relation}`; // prettier-ignore
    const { is, at } = dialect.listedPlace!(params.add('long', request.places));
    return `(SELECT ${list} FROM ${source} WHERE ${is} ORDER BY ${at}) AS ${dialect.relation}`;
  }
  const where = compile(statement, request.predicate);
  const order =
    snapshot.rows === 0 ? '' : orderBy(statement, sortKeys(statement, request), request.predicate);
  const limit = Number.isFinite(request.limit) && request.limit < Number.MAX_SAFE_INTEGER;
  return `(SELECT ${columns.length > 0 ? columns.join(', ') : '1'} FROM ${source} WHERE ${where}${order}${
    limit ? ` LIMIT ${params.add('long', BigInt(request.limit))}` : ''
  }${request.offset > 0 ? ` OFFSET ${params.add('long', BigInt(request.offset))}` : ''}) AS ${dialect.relation}`;
}

function storedColumns(dialect: Dialect, projection: readonly Projected[]): string[] {
  return projection
    .filter(({ isStored }) => isStored)
    .map(({ column }) => dialect.column(column.physical));
}

/** Without an ordering the engine keeps the files' order by itself, and stops reading when the page is full. */
function orderBy(
  { dialect, spellings }: Statement,
  keys: readonly SortKey[],
  predicate: Predicate,
): string {
  if (keys.length === 0 && dialect.keepsOrder && !joins(predicate, spellings)) return '';
  const list = keys.map(
    ({ sql, descending }) => `${sql} ${descending ? 'DESC' : 'ASC'} NULLS LAST`,
  );
  return ` ORDER BY ${[...list, dialect.insertionOrder()].join(', ')}`;
}

/** List fields order by their smallest element ascending and their largest descending. */
function sortKeys(statement: Statement, request: QueryRequest): readonly SortKey[] {
  const { dialect } = statement;
  if (request.ordering.length === 0) {
    const score = relevance(statement, request.scores);
    return score === undefined ? [] : [{ sql: score, descending: true, type: 'double' }];
  }
  return request.ordering.flatMap(({ field, descending }) => {
    const values = access(statement, field);
    if (!values) return [];
    const sql = !values.isMany
      ? values.sql
      : descending
        ? dialect.largest(values.sql)
        : dialect.smallest(values.sql);
    return [{ sql, descending, type: boundType({ ...field, type: values.type }) }];
  });
}
