import { viewerOf } from '../../../engine/catalog/access.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { parseFullPath } from '../../../engine/catalog/full-path.js';
import { invalidError, notFoundError } from '../../../engine/core/errors.js';
import type { AppContext } from '../../http/app-context.js';
import { readId } from '../../http/form.js';
import type { Caller } from '../../http/api-request.js';
import { requireResource } from '../../http/require-resource.js';

/** Returns the dataset with this id or full path. Throws a 404 if there is none that the caller may read, and a 400 for any other value. */
export async function findDatasetByIdOrPath(
  context: AppContext,
  caller: Caller,
  idOrPath: unknown,
): Promise<DatasetRow> {
  if (idOrPath === undefined || idOrPath === null || idOrPath === '')
    throw invalidError('dataset', 'This field is required.');
  const id = readId(idOrPath) ?? (await findIdOfPath(context, caller, idOrPath));
  if (id === undefined) throw notFoundError();
  return requireResource(context.catalog, caller, 'dataset', id, 'read');
}

async function findIdOfPath(
  { catalog }: AppContext,
  caller: Caller,
  idOrPath: unknown,
): Promise<number | undefined> {
  const path = typeof idOrPath === 'string' ? parseFullPath(idOrPath) : undefined;
  if (!path) throw invalidError('dataset', 'Must be the id or the full path of a dataset.');
  const vault = await catalog.vaults.byFullPath(path, viewerOf(caller));
  if (!vault) return undefined;
  const filter = {
    viewer: viewerOf(caller),
    vaultIds: [vault.id],
    path: path.path,
    objectTypes: ['dataset' as const],
  };
  const { rows } = await catalog.objects.list(filter, { limit: 1, offset: 0 });
  return rows[0]?.id;
}
