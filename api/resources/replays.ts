import { notFound } from '../../engine/core/errors.js';
import type { ResourceKind } from '../http/access.js';
import { JobPresenter } from './tasks/job-presenter.js';
import type { OperationId } from '../http/operations.js';
import type { Parts } from '../http/app-context.js';
import { presenterFor } from './presenter.js';
import { QuestionPresenter } from './beacons/saved-resource-presenter.js';
import type { ApiRequest, Caller } from '../http/request.js';
import { requireResource } from '../http/require-resource.js';
import { uploadTarget } from './downloads/signed-addresses.js';
import { fieldView } from './views.js';

/** Shows what a create has made before, as the create itself would answer it now. */
type Show = (parts: Parts, caller: Caller, id: number, request: ApiRequest) => Promise<object>;

/** Every operation that makes something, and how it is shown when its request comes again (threats C8). */
export const madeBy: { readonly [K in OperationId]?: Show } = {
  'vaults.create': async (parts, caller, id, request) =>
    presenterFor(parts, request).vault(await found(parts, caller, 'vault', id)),
  'objects.create': async (parts, caller, id, request) => {
    const object = await found(parts, caller, 'object', id);
    const isWaiting = object.objectType === 'file' && object.revision === 0;
    const uploadUrl = request.origin + uploadTarget(parts.signer, object);
    return presenterFor(parts, request).object(object, isWaiting ? { uploadUrl } : {});
  },
  'datasets.create': async (parts, caller, id, request) => {
    const dataset = await found(parts, caller, 'dataset', id);
    const object = await parts.catalog.objects.get(id);
    if (!object) throw notFound();
    return presenterFor(parts, request).dataset(dataset, object);
  },
  'fields.create': async (parts, caller, id, request) => {
    const field = await found(parts, caller, 'field', id);
    const object = await parts.catalog.objects.get(field.datasetId);
    if (!object) throw notFound();
    return fieldView(field, object.vaultId, request.origin);
  },
  'imports.create': async (parts, caller, id, request) =>
    new JobPresenter(parts, request).ofImport(await found(parts, caller, 'import', id)),
  'exports.create': async (parts, caller, id, request) =>
    new JobPresenter(parts, request).ofExport(await found(parts, caller, 'export', id)),
  'savedQueries.create': async (parts, caller, id, request) =>
    new QuestionPresenter(parts, request).savedQuery(await found(parts, caller, 'saved query', id)),
  'beaconSets.create': async (parts, caller, id, request) =>
    new QuestionPresenter(parts, request).set(await found(parts, caller, 'beacon set', id)),
  'beacons.create': async (parts, caller, id, request) =>
    new QuestionPresenter(parts, request).beacon(await found(parts, caller, 'beacon', id)),
};

/** It may be gone, or out of its maker's sight, since then. */
function found<K extends ResourceKind>(
  parts: Parts,
  caller: Caller,
  kind: K,
  id: number,
): ReturnType<typeof requireResource<K>> {
  return requireResource(parts.catalog, caller, kind, id, 'read');
}
