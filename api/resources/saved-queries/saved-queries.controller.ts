import { viewerOf } from '../../../engine/catalog/access.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { unlimitedPage } from '../../../engine/catalog/list-page.js';
import type { SavedQueryRow } from '../../../engine/catalog/saved-queries.js';
import type { SavedResourceFilter } from '../../../engine/catalog/saved-resource.js';
import { AppError } from '../../../engine/core/errors.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import type { AppContext } from '../../http/app-context.js';
import { crudController } from '../../http/crud.js';
import { readBoolean, type Form } from '../../http/form.js';
import { idParam, omitUndefined, firstParamValue } from '../../http/list-query.js';
import { crudOperations } from '../../http/operation-row.js';
import type { QueryParams } from '../../http/page.js';
import type { Caller } from '../../http/api-request.js';
import { presenterFor } from '../shared/presenter.js';
import { resolveAsOf } from '../queries/as-of.js';
import { findDatasetByIdOrPath } from '../queries/dataset-by-path.js';
import { fieldNamesOfQuery } from './fields-named.js';
import { savedQuery, type SavedQueryContext } from './saved-query.js';

export const savedQueryOperations = crudOperations('savedQueries', {
  tag: 'Saved queries',
  path: '/v2/saved_queries',
  noun: 'a saved query',
  resource: savedQuery,
  query: {
    name: 'Exact name.',
    dataset: 'Id or full path of a dataset: queries all of whose fields it has.',
    dataset_id: 'Id or full path of a dataset; another name of dataset.',
    is_shared: 'true or false.',
    user_id: 'Owner.',
  },
  summaries: {
    create: 'Saves a query under a name.',
    list: "Lists the user's own saved queries and those shared with the account.",
  },
});

/** Saved queries (contract 17). */
export const SavedQueriesController = crudController<
  'saved query',
  SavedQueryContext,
  SavedResourceFilter
>({
  kind: 'saved query',
  operations: savedQueryOperations,
  declaration: savedQuery,
  table: ({ savedQueries }) => savedQueries,
  filter: savedQueryFilter,
  list: async (context, caller, query, page) => {
    const datasetParam = firstParamValue(query, 'dataset', 'dataset_id');
    const { savedQueries } = context.catalog;
    if (datasetParam === undefined) return savedQueries.list(savedQueryFilter(query, caller), page);
    // The database does not know which fields a query names, so the whole list, which is short, is filtered here.
    const { rows } = await savedQueries.list(savedQueryFilter(query, caller), unlimitedPage);
    const fittingQueries = await findQueriesWithFieldsOf(context, caller, rows, datasetParam);
    return {
      rows: fittingQueries.slice(page.offset, page.offset + page.limit),
      total: fittingQueries.length,
    };
  },
  contexts: (context, request, rows) => {
    const presenter = presenterFor(context, request);
    return Promise.all(
      rows.map(async ({ userId }) => ({
        user: await presenter.loadUser(userId),
        origin: request.origin,
      })),
    );
  },
  resolve: async (context, caller, form, values, row) => {
    const dataset = await readDataset(context, caller, form);
    if (dataset) await checkParams(context, form, values.params ?? row?.params ?? {}, dataset);
    if (row) return dataset ? { datasetId: dataset.id } : {};
    return { datasetId: dataset?.id ?? null };
  },
  delete: (context, { id }) => context.catalog.savedQueries.delete(id),
});

function savedQueryFilter(query: QueryParams, caller: Caller): SavedResourceFilter {
  const isShared = firstParamValue(query, 'is_shared');
  return {
    viewer: viewerOf(caller),
    ...omitUndefined<SavedResourceFilter>({
      name: firstParamValue(query, 'name'),
      userId: idParam(query, 'user_id'),
      isShared: isShared === undefined ? undefined : (readBoolean(isShared) ?? false),
    }),
  };
}

/** Returns the dataset in the request against which the parameters are checked. */
async function readDataset(
  context: AppContext,
  caller: Caller,
  form: Form,
): Promise<DatasetRow | undefined> {
  const rawDataset = form.raw('dataset') ?? form.raw('dataset_id');
  if (rawDataset === undefined || rawDataset === '') return undefined;
  try {
    return await findDatasetByIdOrPath(context, caller, rawDataset);
  } catch (error) {
    if (!(error instanceof AppError) || !['not-found', 'invalid'].includes(error.code)) throw error;
    const quotedDataset = JSON.stringify(String(rawDataset).slice(0, 100));
    return form.fail('dataset', `Invalid dataset ${quotedDataset}.`);
  }
}

async function checkParams(
  context: AppContext,
  form: Form,
  params: Readonly<Record<string, unknown>>,
  dataset: DatasetRow,
): Promise<void> {
  try {
    parseQuery(params, await context.catalog.fields.all(dataset.id));
    await resolveAsOf(context, dataset.id, params['as_of']);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    form.fail('params', error.fields ?? error.message);
  }
}

/** Returns those saved queries whose fields the dataset has. */
async function findQueriesWithFieldsOf(
  context: AppContext,
  caller: Caller,
  rows: readonly SavedQueryRow[],
  idOrPath: string,
): Promise<readonly SavedQueryRow[]> {
  try {
    const dataset = await findDatasetByIdOrPath(context, caller, idOrPath);
    const fields = await context.catalog.fields.all(dataset.id);
    const names = new Set(['_id', '_commit', ...fields.map(({ name }) => name)]);
    const isField = (name: string): boolean => names.has(name);
    return rows.filter(({ params }) => fieldNamesOfQuery(params, isField).every(isField));
  } catch (error) {
    if (error instanceof AppError && error.code === 'not-found') return [];
    throw error;
  }
}
