import type { Tables } from '../../engine/catalog/catalog.js';
import type { DatasetRow } from '../../engine/catalog/datasets.js';
import type { FieldRow } from '../../engine/catalog/fields.js';
import { logEntryName } from '../../engine/core/data-folder.js';
import { AppError, notFound } from '../../engine/core/errors.js';
import type { Snapshot, Store } from '../../engine/store/store.js';

/** A version of a dataset, with its fields. */
export interface VisibleData {
  readonly snapshot: Snapshot;
  readonly fields: readonly FieldRow[];
}

/**
 * The latest version of a dataset that the catalogue has, or `version`, with the dataset's fields. A commit is in the log for a
 * moment before it is in the catalogue; it is not visible then, because its new fields would be missing (threats Q8, D11). A field
 * that is newer than the snapshot is harmless: it has no values there. Throws `not-found` without the dataset.
 */
export async function visibleData(
  catalog: Tables,
  store: Store,
  datasetId: number,
  version?: number,
): Promise<VisibleData> {
  const { newest, dataset } = await newestOf(catalog, store, datasetId);
  if (version !== undefined && version <= dataset.logVersion) {
    const snapshot = await store.snapshot(datasetId, version);
    return { snapshot, fields: await catalog.fields.all(datasetId) };
  }
  const isAhead = newest.version > dataset.logVersion;
  const snapshot = isAhead ? await store.snapshot(datasetId, dataset.logVersion) : newest;
  return { snapshot, fields: await catalog.fields.all(datasetId) };
}

/**
 * The snapshot of a dataset to which a commit can be added: the last version of its log. Throws `damaged` if the catalogue knows a later
 * one, whose number must not be given to another commit, and `not-found` without the dataset.
 */
export async function appendableSnapshot(
  catalog: Tables,
  store: Store,
  datasetId: number,
): Promise<Snapshot> {
  return (await newestOf(catalog, store, datasetId)).newest;
}

async function newestOf(
  catalog: Tables,
  store: Store,
  datasetId: number,
): Promise<{ readonly newest: Snapshot; readonly dataset: DatasetRow }> {
  refuseArchived(await catalog.datasets.get(datasetId));
  const read = store.snapshot(datasetId).catch(async (error: unknown) => {
    refuseArchived(await catalog.datasets.get(datasetId)); // since a moment ago
    throw error;
  });
  let newest = await read;
  const dataset = await catalog.datasets.get(datasetId);
  if (dataset === undefined) throw notFound();
  refuseArchived(dataset);
  // A commit may have come between the two reads.
  if (newest.version < dataset.logVersion) newest = await store.snapshot(datasetId);
  if (newest.version < dataset.logVersion) {
    throw lostVersions(datasetId, newest.version, dataset.logVersion);
  }
  return { newest, dataset };
}

/** Throws `invalid`, with what to do, for a dataset whose files are in its archive. */
export function refuseArchived(dataset: DatasetRow | undefined): void {
  const problem = dataset && archivedProblem(dataset);
  if (problem !== undefined) throw new AppError('invalid', problem);
}

/** Why the records of a dataset cannot be read or changed, and what to do; undefined unless its files are in its archive. */
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

/** The error of a log that ends before the version that the catalogue knows. */
export function lostVersions(datasetId: number, last: number, known: number): AppError {
  const first = logEntryName(last + 1);
  return new AppError(
    'damaged',
    `dataset ${datasetId}: log entry ${first} is missing; the catalogue knows version ${known}`,
  );
}
