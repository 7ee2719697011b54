import { viewerOf } from '../../../engine/catalog/access.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { unlimitedPage } from '../../../engine/catalog/list-page.js';
import { AppError, invalidError, notFoundError } from '../../../engine/core/errors.js';
import { stringifyJson } from '../../../engine/core/json.js';
import type { HostCallResult } from '../../../scheduler/expressions/host-call-protocol.js';
import type { AppContext } from '../../http/app-context.js';
import { readId } from '../../http/form.js';
import { mapConcurrent } from '../../http/map-concurrent.js';
import type { Caller } from '../../http/api-request.js';
import { requireResource } from '../../http/require-resource.js';
import { beaconQueryBody, queryBeacons, type BeaconQuery } from '../beacons/query-beacon.js';
import { findDatasetByIdOrPath } from '../queries/dataset-by-path.js';
import { runDatasetQuery } from '../queries/query-records.js';
import type { FunctionScope } from './function-scope.js';

/** Maximum number of datasets that a call without a beacon set queries. */
const maxDatasets = 1000;

type NamedStatus = readonly [name: string, status: 'found' | 'not_found' | 'failed'];

/**
 * Evaluates the function `beacon` (specification of expressions, section 8.2).
 * Choice: if the caller may not read the dataset of a beacon, the result of the function `beacon` has the beacon's title instead of the
 * path. `visibility` has no effect, because the caller's permissions decide.
 */
export async function answerBeaconCall(
  scope: FunctionScope,
  args: readonly unknown[],
): Promise<HostCallResult> {
  const [entity, entityType, beaconSet, datasets] = args;
  const query = beaconQueryBody.parse({ query: entity, entity_type: entityType });
  if (query.entityType === null) throw invalidError('entity_type', 'entity_type is required');
  const isGiven = (value: unknown): boolean => value !== null && value !== undefined;
  const statuses = isGiven(beaconSet)
    ? await queryBeaconSet(scope, beaconSet, query)
    : await queryDatasets(scope, datasets, [query.entityType, [query.query].flat().map(String)]);
  const namesWithStatus = (status: NamedStatus[1]): string[] =>
    statuses.filter(([, one]) => one === status).map(([name]) => name);
  const result = {
    found_count: namesWithStatus('found').length,
    found: namesWithStatus('found'),
    not_found_count: namesWithStatus('not_found').length,
    not_found: namesWithStatus('not_found'),
    failed_count: namesWithStatus('failed').length,
    failed: namesWithStatus('failed'),
  };
  return { json: stringifyJson(result), floats: [] };
}

async function queryBeaconSet(
  { context, caller, signal }: FunctionScope,
  rawId: unknown,
  query: BeaconQuery,
): Promise<readonly NamedStatus[]> {
  const id = readId(rawId);
  if (id === undefined) throw notFoundError();
  await requireResource(context.catalog, caller, 'beacon set', id, 'read');
  const filter = { viewer: viewerOf(caller), beaconSetId: id };
  const { rows } = await context.catalog.beacons.list(filter, unlimitedPage);
  const beacons = rows.toReversed();
  const answers = await queryBeacons(context, caller, beacons, query, signal);
  return mapConcurrent([...beacons.entries()], async ([i, { datasetId, title }]) => {
    const dataset = await findReadableDataset(context, caller, datasetId);
    return [dataset ? await readFullPath(context, dataset) : title, answers[i]!.status];
  });
}

/** Queries the given datasets; if none are given, all datasets that the caller may read and that have a field of the entity type. */
async function queryDatasets(
  { context, caller, signal }: FunctionScope,
  rawDatasets: unknown,
  entity: readonly [type: string, values: readonly string[]],
): Promise<readonly NamedStatus[]> {
  const ask = async (dataset: DatasetRow, name: string): Promise<NamedStatus> => {
    try {
      const body = { entities: [entity], limit: 0 };
      const { total } = await runDatasetQuery(context, dataset, body, signal);
      return [name, total > 0 ? 'found' : 'not_found'];
    } catch (error) {
      if (signal.aborted || !(error instanceof AppError)) throw error;
      return [name, 'failed'];
    }
  };
  if (rawDatasets !== null && rawDatasets !== undefined) {
    const idsOrPaths: readonly unknown[] = Array.isArray(rawDatasets) ? rawDatasets : [rawDatasets];
    if (idsOrPaths.length > maxDatasets)
      throw invalidError(
        'datasets',
        `datasets takes at most ${maxDatasets}, not ${idsOrPaths.length}`,
      );
    return mapConcurrent(idsOrPaths, async (idOrPath): Promise<NamedStatus> => {
      const dataset = await findDatasetByIdOrPath(context, caller, idOrPath).catch(
        (error: unknown) => {
          if (error instanceof AppError) return undefined;
          throw error;
        },
      );
      if (dataset === undefined) return [String(idOrPath), 'failed'];
      return ask(dataset, await readFullPath(context, dataset));
    });
  }
  const page = { limit: maxDatasets + 1, offset: 0 };
  const { rows } = await context.catalog.datasets.list({ viewer: viewerOf(caller) }, page);
  if (rows.length > maxDatasets)
    throw invalidError(
      'datasets',
      `more than ${maxDatasets} datasets: name those to ask in datasets`,
    );
  const statuses = await mapConcurrent(rows, async (dataset) => {
    const fields = await context.catalog.fields.all(dataset.id);
    if (!fields.some(({ entityType }) => entityType === entity[0])) return undefined;
    return ask(dataset, await readFullPath(context, dataset));
  });
  return statuses.filter((one) => one !== undefined);
}

async function findReadableDataset(
  { catalog }: AppContext,
  caller: Caller,
  id: number,
): Promise<DatasetRow | undefined> {
  try {
    return await requireResource(catalog, caller, 'dataset', id, 'read');
  } catch (error) {
    if (error instanceof AppError && error.code === 'not-found') return undefined;
    throw error;
  }
}

async function readFullPath({ catalog }: AppContext, { id }: DatasetRow): Promise<string> {
  const object = await catalog.objects.get(id);
  const vault = object && (await catalog.vaults.get(object.vaultId));
  const account = vault && (await catalog.accounts.get(vault.accountId));
  return account ? `${account.domain}:${vault.name}:${object.path}` : String(id);
}
