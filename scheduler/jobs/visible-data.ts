import type { Tables } from '../../engine/catalog/catalog-tables.js';
import type { DatasetRow } from '../../engine/catalog/datasets.js';
import type { FieldRow } from '../../engine/catalog/fields.js';
import { logEntryName } from '../../engine/core/data-folder.js';
import { AppError, notFoundError } from '../../engine/core/errors.js';
import type { Snapshot, Store } from '../../engine/store/store.js';

/** A version of a dataset, with its fields. */
export interface VisibleDatasetVersion {
  readonly snapshot: Snapshot;
  readonly fields: readonly FieldRow[];
}

/**
 * Returns the latest version of a dataset that the catalogue has, or `version` if that is an earlier one, with the dataset's fields. A
 * commit is in the log shortly before it is in the catalogue; until then it is not visible, because its new fields would be missing
 * (threats Q8, D11). A field that is newer than the snapshot is harmless: it has no values in the snapshot. Throws `not-found` if the
 * dataset does not exist, `invalid` if it is archived or a vacuum has removed the version, and `damaged` if its log has lost entries or was
 * altered.
 */
export async function loadVisibleVersion(
  catalog: Tables,
  store: Store,
  datasetId: number,
  version?: number,
): Promise<VisibleDatasetVersion> {
  const { newest, dataset } = await loadNewestVersion(catalog, store, datasetId);
  if (version !== undefined && version <= dataset.logVersion) {
    const snapshot = await readSnapshot(catalog, store, datasetId, version);
    return { snapshot, fields: await catalog.fields.all(datasetId) };
  }
  const isAhead = newest.version > dataset.logVersion;
  const snapshot = isAhead
    ? await readSnapshot(catalog, store, datasetId, dataset.logVersion)
    : newest;
  return { snapshot, fields: await catalog.fields.all(datasetId) };
}

/**
 * Returns the snapshot of a dataset to which a commit can be added: the last version of its log. Throws `damaged` if the catalogue knows a
 * later version, whose number must not be given to another commit, `invalid` if the dataset is archived, and `not-found` if it does not
 * exist.
 */
export async function requireAppendableSnapshot(
  catalog: Tables,
  store: Store,
  datasetId: number,
): Promise<Snapshot> {
  return (await loadNewestVersion(catalog, store, datasetId)).newest;
}

async function loadNewestVersion(
  catalog: Tables,
  store: Store,
  datasetId: number,
): Promise<{ readonly newest: Snapshot; readonly dataset: DatasetRow }> {
  requireNotArchived(await catalog.datasets.get(datasetId));
  let newest = await readSnapshot(catalog, store, datasetId);
  const dataset = await catalog.datasets.get(datasetId);
  if (dataset === undefined) throw notFoundError();
  requireNotArchived(dataset);
  // A commit may have been made between reading the log and reading the catalogue.
  if (newest.version < dataset.logVersion) newest = await readSnapshot(catalog, store, datasetId);
  if (newest.version < dataset.logVersion) {
    throw lostVersionsError(datasetId, newest.version, dataset.logVersion);
  }
  return { newest, dataset };
}

/** Returns a snapshot of a dataset. Throws `invalid` if the dataset has just been archived. */
async function readSnapshot(
  catalog: Tables,
  store: Store,
  datasetId: number,
  version?: number,
): Promise<Snapshot> {
  try {
    return await store.snapshot(datasetId, version);
  } catch (error) {
    requireNotArchived(await catalog.datasets.get(datasetId));
    throw error;
  }
}

/** Throws `invalid` for a dataset whose files are in its archive; the message says what to do. */
export function requireNotArchived(dataset: DatasetRow | undefined): void {
  const problem = dataset && archivedProblem(dataset);
  if (problem !== undefined) throw new AppError('invalid', problem);
}

/** Whether the files of a dataset are in its archive, according to the catalogue. */
export function isInArchive({ availability }: DatasetRow): boolean {
  return availability === 'archived' || availability === 'restoring';
}

/** Returns why the records of a dataset cannot be read or changed, and what to do, if its files are in its archive; undefined otherwise. */
export function archivedProblem({ availability }: DatasetRow): string | undefined {
  if (availability === 'archived') {
    return (
      'The dataset is archived: set its storage_class to another one, such as Standard, ' +
      'and wait until the restore task has completed.'
    );
  }
  if (availability !== 'restoring') return undefined;
  return 'The dataset is archived and being restored: wait until the restore task has completed.';
}

/**
 * Returns why a dataset cannot be changed if it has a snapshot task that has not ended; undefined otherwise. That task would have to wait
 * for any task that starts now.
 */
export async function snapshotProblem(
  { tasks }: Tables,
  datasetId: number,
): Promise<string | undefined> {
  const task = await tasks.openTask('snapshot', datasetId);
  return task && `The dataset is being archived; cancel task ${task.id} to change it.`;
}

/** Returns the error of a log that ends before the version that the catalogue knows. */
export function lostVersionsError(
  datasetId: number,
  lastVersion: number,
  knownVersion: number,
): AppError {
  const missingEntry = logEntryName(lastVersion + 1);
  return new AppError(
    'damaged',
    `dataset ${datasetId}: log entry ${missingEntry} is missing; the catalogue knows version ${knownVersion}`,
  );
}
