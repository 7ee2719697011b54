import {
  principalOf,
  requirePermission as requireOn,
  type AccessRows,
} from '../../engine/catalog/access.js';
import type { Tables } from '../../engine/catalog/catalog.js';
import type { DatasetRow } from '../../engine/catalog/datasets.js';
import type { Permission } from '../../engine/catalog/permission.js';
import type { VaultRow } from '../../engine/catalog/vaults.js';
import { AppError, invalid, notFound } from '../../engine/core/errors.js';
import { archivedProblem } from '../../scheduler/jobs/visible-data.js';
import type { ResourceKind } from './access.js';
import type { AppContext } from './app-context.js';
import { readId, type Form } from './form.js';
import type { Caller } from './request.js';

/** The row of an id in a path or a body. Throws 404 if the caller may not read it, 403 without that permission. */
export function requireResource<K extends ResourceKind>(
  tables: Tables,
  caller: Caller,
  kind: K,
  id: number,
  level: Permission,
): Promise<AccessRows[K]> {
  return requireOn(tables, caller, kind, id, level);
}

/** The row of an id. Throws 404 or 403 if this user is not active or does not have the permission. */
export async function requireOfUser<K extends ResourceKind>(
  tables: Tables,
  userId: number,
  kind: K,
  id: number,
  level: Permission,
): Promise<AccessRows[K]> {
  const user = await principalOf(tables, userId);
  if (user === undefined) throw notFound();
  return requireResource(tables, user, kind, id, level);
}

/**
 * The dataset that a key of a request names. A missing dataset and one that the caller cannot see have the same message (contract 10.2);
 * throws 403 without the permission.
 */
export async function requireDatasetNamed(
  tables: Tables,
  caller: Caller,
  form: Form,
  key: string,
  level: Permission,
): Promise<DatasetRow | undefined> {
  const rawValue = form.raw(key);
  if (rawValue === undefined) return form.fail(key, 'This field is required.');
  const invalidDataset = (): undefined =>
    form.fail(key, `Invalid dataset ${JSON.stringify(String(rawValue).slice(0, 50))}.`);
  const id = readId(rawValue);
  if (id === undefined) return invalidDataset();
  return requireResource(tables, caller, 'dataset', id, level).catch((error: unknown) => {
    if ((error as { code?: unknown }).code === 'not-found') return invalidDataset();
    throw error;
  });
}

/** The vault in which something is created. */
export function requireVault(tables: Tables, caller: Caller, id: number): Promise<VaultRow> {
  return requireOn(tables, caller, 'vault', id, 'write');
}

/**
 * Throws a 400, with the reason, unless the dataset is available. `what` is what the request wants of it: `cannot be queried`. With
 * `field` the message belongs to that field of the request.
 */
export function requireAvailable(
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
  throw field === undefined ? new AppError('invalid', message) : invalid(field, message);
}

/** Throws a 400 if the dataset is about to be archived, which would wait for what is started now. */
export async function requireNoSnapshot(
  { catalog }: AppContext,
  { id }: DatasetRow,
  field: string,
): Promise<void> {
  const task = await catalog.tasks.openTask('snapshot', id);
  if (task === undefined) return;
  throw invalid(field, `The dataset is being archived; cancel task ${task.id} to change it.`);
}
