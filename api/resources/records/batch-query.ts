import { budgets } from '../../../engine/core/budgets.js';
import { AppError, invalidError } from '../../../engine/core/errors.js';
import { stringifyJson } from '../../../engine/core/json.js';
import { errorAnswerOf } from '../../http/errors.filter.js';
import { isObject } from '../../http/form.js';
import { mapConcurrent } from '../../http/map-concurrent.js';
import { formatLogLine } from '../../../engine/core/server-log.js';
import type { AppContext } from '../../http/app-context.js';
import { answerAnnotatedQuery, isAnnotatedQuery } from './annotated-query.js';
import { findDatasetByIdOrPath } from '../queries/dataset-by-path.js';
import { answerQuery } from '../queries/query-records.js';
import { JsonText } from '../../http/reply.js';
import type { Caller } from '../../http/api-request.js';

/**
 * Runs several queries of one request (contract 8.6). The items are in the order of the queries: the answer with `status_code`
 * 200, or the error with its status. A failed query does not affect the others. `checkKeys` throws for unknown keys of a query.
 */
export async function answerBatchQuery(
  context: AppContext,
  caller: Caller,
  body: unknown,
  checkKeys: (query: unknown, index: number) => void,
  signal: AbortSignal,
): Promise<JsonText> {
  const queries = readQueries(body).map((query, index) => ({ query, index }));
  const texts = await mapConcurrent(queries, ({ query, index }) =>
    queryItem(context, caller, query, () => checkKeys(query, index), signal),
  );
  return new JsonText(`[${texts.join(',')}]`);
}

/**
 * Returns the queries of a body: a list, or an object with the key `queries`. Throws `invalid` for another body and for too many queries.
 */
function readQueries(body: unknown): readonly unknown[] {
  const queries = isObject(body) ? body['queries'] : body;
  if (!Array.isArray(queries)) throw invalidError('queries', 'Must be a list of queries.');
  if (queries.length > budgets.batchQueries) {
    throw invalidError(
      'queries',
      `A batch takes at most ${budgets.batchQueries} queries, not ${queries.length}: split them over several requests.`,
    );
  }
  return queries;
}

async function queryItem(
  context: AppContext,
  caller: Caller,
  query: unknown,
  checkKeys: () => void,
  signal: AbortSignal,
): Promise<string> {
  try {
    if (!isObject(query)) throw new AppError('invalid', 'Each query must be a JSON object.');
    checkKeys();
    const dataset = await findDatasetByIdOrPath(
      context,
      caller,
      query['dataset'] ?? query['dataset_id'],
    );
    const { text } = isAnnotatedQuery(query)
      ? await answerAnnotatedQuery({ context, caller, signal }, dataset, query)
      : await answerQuery(context, dataset, query, signal);
    return `{"status_code":200,${text.slice(1)}`;
  } catch (error) {
    const { status, body, isServerFault } = errorAnswerOf(error);
    if (isServerFault) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      context.log(formatLogLine('error', { batch: true, error: text }));
    }
    return stringifyJson({ status_code: status, ...body });
  }
}
