import type { Snapshot } from '../../store/store.js';
import type { QueryRequest } from '../request/request.js';
import type { Projected } from '../results/projection.js';
import { compile } from './compile.js';
import { isLimited, orderBy, sortKeys } from './rows.js';
import type { Statement } from './statement.js';

/** The rows of a page as the relation `dialect.relation` of the stored columns of `projection`. */
export function pageRows(
  statement: Statement,
  snapshot: Snapshot,
  request: QueryRequest,
  projection: readonly Projected[],
): string {
  const { dialect, params, source } = statement;
  const columns = projection
    .filter(({ isStored }) => isStored)
    .map(({ column }) => dialect.column(column.physical));
  const list = columns.length > 0 ? columns.join(', ') : '1';
  const { places, limit, offset } = request;
  if (places) {
    if (places.length === 0)
      return `(SELECT ${list} FROM ${source} WHERE false) AS ${dialect.relation}`;
    const { is, at } = dialect.listedPlace!(params.add('long', places));
    return `(SELECT ${list} FROM ${source} WHERE ${is} ORDER BY ${at}) AS ${dialect.relation}`;
  }
  const where = compile(statement, request.predicate);
  const keys = snapshot.rows === 0 ? [] : sortKeys(statement, request);
  const order = snapshot.rows === 0 ? '' : orderBy(statement, keys, request.predicate);
  const most = isLimited(request) ? ` LIMIT ${params.add('long', BigInt(limit))}` : '';
  const from = offset > 0 ? ` OFFSET ${params.add('long', BigInt(offset))}` : '';
  return `(SELECT ${list} FROM ${source} WHERE ${where}${order}${most}${from}) AS ${dialect.relation}`;
}
