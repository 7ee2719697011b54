import { viewerOf } from '../../../engine/catalog/access.js';
import type { BeaconSetRow } from '../../../engine/catalog/beacon-sets.js';
import type { SavedResourceFilter } from '../../../engine/catalog/saved-resource.js';
import { AppError } from '../../../engine/core/errors.js';
import type { AppContext } from '../../http/app-context.js';
import { crudController, type CrudResource } from '../../http/crud.js';
import { readBoolean, readId, type Form } from '../../http/form.js';
import { idParam, omitUndefined, firstParamValue } from '../../http/list-query.js';
import { crudOperations } from '../../http/operation-row.js';
import type { QueryParams } from '../../http/page.js';
import type { ApiRequest, Caller } from '../../http/api-request.js';
import { requireResource } from '../../http/require-resource.js';
import { presenterFor } from '../shared/presenter.js';
import { beacon, beaconSet, type BeaconContext, type BeaconSetContext } from './beacon.js';

const datasetFilterParams = {
  vault_id: { description: 'Vault of the dataset.', example: '12' },
  vault_object_id: { description: 'Dataset.', example: '4812' },
};

export const beaconSetOperations = crudOperations('beaconSets', {
  tag: 'Beacons',
  path: '/v2/beacon_sets',
  noun: 'a beacon set',
  resource: beaconSet,
  query: {
    account_id: 'Account.',
    is_shared: 'true or false.',
    user_id: 'Owner.',
    ...datasetFilterParams,
  },
  summaries: {
    list: "Lists the user's own beacon sets and those shared with the account.",
    delete: 'Deletes a beacon set with its beacons.',
  },
});

/** Beacon sets (contract 14.1). */
export const beaconSetCrud: CrudResource<'beacon set', BeaconSetContext, SavedResourceFilter> = {
  kind: 'beacon set',
  operations: beaconSetOperations,
  declaration: beaconSet,
  table: ({ beaconSets }) => beaconSets,
  filter: beaconFilter,
  contexts: loadBeaconSetContexts,
  delete: (context, { id }) => context.catalog.beaconSets.delete(id),
};
export const BeaconSetsController = crudController(beaconSetCrud);

/** Returns the data that the views of beacon sets show and their rows do not have. */
async function loadBeaconSetContexts(
  context: AppContext,
  request: ApiRequest,
  rows: readonly BeaconSetRow[],
): Promise<readonly BeaconSetContext[]> {
  const presenter = presenterFor(context, request);
  return Promise.all(
    rows.map(async ({ id, userId }) => {
      const filter = { viewer: null, beaconSetId: id };
      const { total } = await context.catalog.beacons.list(filter, { limit: 1, offset: 0 });
      return {
        user: await presenter.loadUser(userId),
        beaconsCount: total,
        origin: request.origin,
      };
    }),
  );
}

export const beaconOperations = crudOperations('beacons', {
  tag: 'Beacons',
  path: '/v2/beacons',
  noun: 'a beacon',
  resource: beacon,
  query: { beacon_set_id: 'Beacon set.', ...datasetFilterParams },
  summaries: {
    create: 'Adds a dataset to a beacon set.',
    list: "Lists the beacons of the user's own beacon sets and of those shared with the account.",
  },
});

/** Beacons (contract 14.2). */
export const beaconCrud: CrudResource<'beacon', BeaconContext, SavedResourceFilter> = {
  kind: 'beacon',
  operations: beaconOperations,
  declaration: beacon,
  table: ({ beacons }) => beacons,
  filter: beaconFilter,
  contexts: loadBeaconContexts,
  resolve: async (context, caller, form, _values, row) => {
    const isGiven = (key: string): boolean => row === undefined || form.raw(key) !== undefined;
    const set = isGiven('beacon_set_id')
      ? await readOwnBeaconSet(context, caller, form)
      : undefined;
    const datasetId = isGiven('vault_object_id')
      ? await readBeaconDataset(context, caller, form)
      : undefined;
    return {
      ...(set && { beaconSetId: set.id, ...(row === undefined && { isShared: set.isShared }) }),
      ...(datasetId !== undefined && { datasetId }),
    };
  },
  delete: (context, { id }) => context.catalog.beacons.delete(id),
};
export const BeaconsController = crudController(beaconCrud);

/** Returns the data that the views of beacons show and their rows do not have. */
async function loadBeaconContexts(
  context: AppContext,
  request: ApiRequest,
  rows: readonly { readonly datasetId: number }[],
): Promise<readonly BeaconContext[]> {
  return Promise.all(
    rows.map(async ({ datasetId }) => {
      const object = await context.catalog.objects.get(datasetId);
      return { vaultId: object?.vaultId ?? null, origin: request.origin };
    }),
  );
}

/**
 * Returns the beacon set of a request, which must be one of the caller's own. Adds an error to the form and returns undefined if the caller
 * can see no such set; throws 403 for a set that is shared with the caller.
 */
function readOwnBeaconSet(
  context: AppContext,
  caller: Caller,
  form: Form,
): Promise<BeaconSetRow | undefined> {
  const message = 'Must be one of your beacon sets.';
  return findOrAddError(form, 'beacon_set_id', message, (id) =>
    requireResource(context.catalog, caller, 'beacon set', id, 'write'),
  );
}

async function readBeaconDataset(
  context: AppContext,
  caller: Caller,
  form: Form,
): Promise<number | undefined> {
  const message = 'Must be the id of a dataset.';
  const dataset = await findOrAddError(form, 'vault_object_id', message, (id) =>
    requireResource(context.catalog, caller, 'dataset', id, 'read'),
  );
  return dataset?.id;
}

/**
 * Returns what `find` returns for the id under a key of the form. Adds an error with this message to the form, and returns undefined, if
 * the value is not an id or if `find` throws `not-found`.
 */
async function findOrAddError<T>(
  form: Form,
  key: string,
  message: string,
  find: (id: number) => Promise<T>,
): Promise<T | undefined> {
  const id = readId(form.raw(key));
  if (id === undefined) return form.fail(key, message);
  try {
    return await find(id);
  } catch (error) {
    if (error instanceof AppError && error.code === 'not-found') return form.fail(key, message);
    throw error;
  }
}

function beaconFilter(query: QueryParams, caller: Caller): SavedResourceFilter {
  const isShared = firstParamValue(query, 'is_shared');
  return {
    viewer: viewerOf(caller),
    ...omitUndefined<SavedResourceFilter>({
      userId: idParam(query, 'user_id'),
      accountId: idParam(query, 'account_id'),
      isShared: isShared === undefined ? undefined : (readBoolean(isShared) ?? false),
      beaconSetId: idParam(query, 'beacon_set_id'),
      vaultId: idParam(query, 'vault_id'),
      datasetId: idParam(query, 'vault_object_id'),
    }),
  };
}
