import {
  loadPrincipal,
  requirePermission as requireOn,
  type AccessRows,
} from '../../engine/catalog/access.js';
import type { Tables } from '../../engine/catalog/catalog-tables.js';
import type { DatasetRow } from '../../engine/catalog/datasets.js';
import type { Permission } from '../../engine/catalog/permission.js';
import type { VaultRow } from '../../engine/catalog/vaults.js';
import { AppError, invalidError, notFoundError } from '../../engine/core/errors.js';
import { archivedProblem, snapshotProblem } from '../../scheduler/jobs/visible-data.js';
import type { ResourceKind } from './access-rule.js';
import type { AppContext } from './app-context.js';
import { readId, type Form } from './form.js';
import type { Caller } from './api-request.js';

/**
 * Returns the row of an id from a path or a body. Throws 404 if there is no such resource or the caller may not read it, and 403 if the
 * caller may read it but lacks the permission `level` or a token that allows the change.
 */
export function requireResource<K extends ResourceKind>(
  tables: Tables,
  caller: Caller,
  kind: K,
  id: number,
  level: Permission,
): Promise<AccessRows[K]> {
  return requireOn(tables, caller, kind, id, level);
}

/** Returns the row of an id. Throws 404 or 403 if the user `userId` is not active or lacks the permission `level`. */
export async function requireResourceOfUser<K extends ResourceKind>(
  tables: Tables,
  userId: number,
  kind: K,
  id: number,
  level: Permission,
): Promise<AccessRows[K]> {
  const user = await loadPrincipal(tables, userId);
  if (user === undefined) throw notFoundError();
  return requireResource(tables, user, kind, id, level);
}

/**
 * Returns the dataset whose id a key of a request has; undefined, with a mistake in the form, if there is none. The message for a missing
 * dataset is the same as for one that the caller cannot see (contract 10.2). Throws 403 if the caller lacks the permission `level`.
 */
export async function requireDatasetOfKey(
  tables: Tables,
  caller: Caller,
  form: Form,
  key: string,
  level: Permission,
): Promise<DatasetRow | undefined> {
  const rawValue = form.raw(key);
  if (rawValue === undefined) return form.fail(key, 'This field is required.');
  const failInvalidDataset = (): undefined =>
    form.fail(key, `Invalid dataset ${JSON.stringify(String(rawValue).slice(0, 50))}.`);
  const id = readId(rawValue);
  if (id === undefined) return failInvalidDataset();
  return requireResource(tables, caller, 'dataset', id, level).catch((error: unknown) => {
    if ((error as { code?: unknown }).code === 'not-found') return failInvalidDataset();
    throw error;
  });
}

/** Returns the vault in which a resource is to be created; the caller must have write permission. */
export function requireVault(tables: Tables, caller: Caller, id: number): Promise<VaultRow> {
  return requireOn(tables, caller, 'vault', id, 'write');
}

/**
 * Throws a 400, with the reason, unless the dataset is available. `what` completes the message with what the request cannot do, such as
 * `cannot be queried`. With `field`, the message belongs to that field of the request.
 */
export function requireAvailableDataset(
  { scheduler }: AppContext,
  dataset: DatasetRow,
  what: string,
  field?: string,
): void {
  const { id, availability, storageClass } = dataset;
  if (availability === 'available') return;
  const reason = scheduler.refusal(id);
  const message =
    reason !== undefined
      ? `The dataset is ${availability} and ${what}: ${reason}. Its files have to be restored.`
      : (archivedProblem(dataset) ??
        (storageClass === 'Archive'
          ? `The dataset is being archived; it ${what} before it has been archived and restored again.`
          : `The dataset is ${availability}; it ${what} now.`));
  throw field === undefined ? new AppError('invalid', message) : invalidError(field, message);
}

/** Throws a 400 if a snapshot task for the dataset is pending, because the snapshot would have to wait for any task that starts now. */
export async function requireNoSnapshot(
  { catalog }: AppContext,
  { id }: DatasetRow,
  field: string,
): Promise<void> {
  const problem = await snapshotProblem(catalog, id);
  if (problem !== undefined) throw invalidError(field, problem);
}
