import { notFound } from '../../engine/core/errors.js';
import type { ResourceKind } from '../http/access.js';
import { JobPresenter } from './tasks/job-presenter.js';
import type { OperationId } from '../http/operations.js';
import type { AppContext } from '../http/app-context.js';
import { presenterFor } from './presenter.js';
import { QuestionPresenter } from './beacons/saved-resource-presenter.js';
import type { ApiRequest, Caller } from '../http/request.js';
import { requireResource } from '../http/require-resource.js';
import { uploadTarget } from './downloads/signed-addresses.js';
import { fieldView } from './views.js';

/** Shows what a create has made before, as the create itself would answer it now. */
type Show = (
  context: AppContext,
  caller: Caller,
  id: number,
  request: ApiRequest,
) => Promise<object>;

/** Every operation that makes something, and how it is shown when its request comes again (threats C8). */
export const madeBy: { readonly [K in OperationId]?: Show } = {
  'vaults.create': async (context, caller, id, request) =>
    presenterFor(context, request).vault(await found(context, caller, 'vault', id)),
  'objects.create': async (context, caller, id, request) => {
    const object = await found(context, caller, 'object', id);
    const isWaiting = object.objectType === 'file' && object.revision === 0;
    const uploadUrl = request.origin + uploadTarget(context.signer, object);
    return presenterFor(context, request).object(object, isWaiting ? { uploadUrl } : {});
  },
  'datasets.create': async (context, caller, id, request) => {
    const dataset = await found(context, caller, 'dataset', id);
    const object = await context.catalog.objects.get(id);
    if (!object) throw notFound();
    return presenterFor(context, request).dataset(dataset, object);
  },
  'fields.create': async (context, caller, id, request) => {
    const field = await found(context, caller, 'field', id);
    const object = await context.catalog.objects.get(field.datasetId);
    if (!object) throw notFound();
    return fieldView(field, object.vaultId, request.origin);
  },
  'imports.create': async (context, caller, id, request) =>
    new JobPresenter(context, request).ofImport(await found(context, caller, 'import', id)),
  'exports.create': async (context, caller, id, request) =>
    new JobPresenter(context, request).ofExport(await found(context, caller, 'export', id)),
  'savedQueries.create': async (context, caller, id, request) =>
    new QuestionPresenter(context, request).savedQuery(
      await found(context, caller, 'saved query', id),
    ),
  'beaconSets.create': async (context, caller, id, request) =>
    new QuestionPresenter(context, request).set(await found(context, caller, 'beacon set', id)),
  'beacons.create': async (context, caller, id, request) =>
    new QuestionPresenter(context, request).beacon(await found(context, caller, 'beacon', id)),
};

/** It may be gone, or out of its maker's sight, since then. */
function found<K extends ResourceKind>(
  context: AppContext,
  caller: Caller,
  kind: K,
  id: number,
): ReturnType<typeof requireResource<K>> {
  return requireResource(context.catalog, caller, kind, id, 'read');
}
