import { accessOf } from '../../../engine/catalog/access.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { parseFullPath } from '../../../engine/catalog/full-path.js';
import { budgets } from '../../../engine/core/budgets.js';
import { AppError, invalid, notFound } from '../../../engine/core/errors.js';
import { stringifyJson } from '../../../engine/core/json.js';
import { answerTo } from '../../http/errors.filter.js';
import { isObject, readId } from '../../http/form.js';
import { mapConcurrent } from '../../http/map-concurrent.js';
import { logLine } from '../../http/log.js';
import type { AppContext } from '../../http/app-context.js';
import { queryAnswer } from './query-records.js';
import { JsonText } from '../../http/reply.js';
import type { Caller } from '../../http/request.js';
import { requireResource } from '../../http/require-resource.js';

/**
 * Several queries in one request (contract 8.6): a list in the order asked, each item the query's answer with `status_code`
 * 200, or its error with the error's status. One that fails disturbs no other.
 */
export async function batchAnswer(
  context: AppContext,
  caller: Caller,
  body: unknown,
  signal: AbortSignal,
): Promise<JsonText> {
  const queries = queriesOf(body);
  const texts = await mapConcurrent(queries, (query) => itemOf(context, caller, query, signal));
  return new JsonText(`[${texts.join(',')}]`);
}

/** A list, bare or under `queries`. */
function queriesOf(body: unknown): readonly unknown[] {
  const queries = isObject(body) ? body['queries'] : body;
  if (!Array.isArray(queries)) throw invalid('queries', 'Must be a list of queries.');
  if (queries.length > budgets.batchQueries) {
    throw invalid(
      'queries',
      `At most ${budgets.batchQueries} queries, not ${queries.length} (budget batchQueries).`,
    );
  }
  return queries;
}

async function itemOf(
  context: AppContext,
  caller: Caller,
  query: unknown,
  signal: AbortSignal,
): Promise<string> {
  try {
    if (!isObject(query)) throw new AppError('invalid', 'Each query must be a JSON object.');
    const dataset = await datasetNamed(context, caller, query['dataset'] ?? query['dataset_id']);
    const { text } = await queryAnswer(context, dataset, query, signal);
    return `{"status_code":200,${text.slice(1)}`;
  } catch (error) {
    const { status, body, isBug } = answerTo(error);
    if (isBug) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      context.log(logLine('error', { batch: true, error: text }));
    }
    return stringifyJson({ status_code: status, ...body });
  }
}

/** The dataset of an id or a full path, if the caller may read it. */
export async function datasetNamed(
  context: AppContext,
  caller: Caller,
  given: unknown,
): Promise<DatasetRow> {
  if (given === undefined || given === null || given === '')
    throw invalid('dataset', 'This field is required.');
  const id = readId(given) ?? (await idOfPath(context, caller, given));
  if (id === undefined) throw notFound();
  return requireResource(context.catalog, caller, 'dataset', id, 'read');
}

async function idOfPath(
  { catalog }: AppContext,
  caller: Caller,
  given: unknown,
): Promise<number | undefined> {
  const path = typeof given === 'string' ? parseFullPath(given) : undefined;
  if (!path) throw invalid('dataset', 'Must be the id or the full path of a dataset.');
  const vault = await catalog.vaults.byFullPath(path, accessOf(caller));
  if (!vault) return undefined;
  const filter = {
    access: accessOf(caller),
    vaultIds: [vault.id],
    path: path.path,
    objectTypes: ['dataset' as const],
  };
  const { rows } = await catalog.objects.list(filter, { limit: 1, offset: 0 });
  return rows[0]?.id;
}
