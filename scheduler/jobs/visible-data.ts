import type { Tables } from '../../engine/catalog/catalog.js';
import type { FieldRow } from '../../engine/catalog/fields.js';
import { notFound } from '../../engine/core/errors.js';
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
  const newest = await store.snapshot(datasetId);
  const dataset = await catalog.datasets.get(datasetId);
  if (dataset === undefined) throw notFound();
  if (version !== undefined && version <= dataset.logVersion) {
    const snapshot = await store.snapshot(datasetId, version);
    return { snapshot, fields: await catalog.fields.all(datasetId) };
  }
  const isAhead = newest.version > dataset.logVersion;
  const snapshot = isAhead ? await store.snapshot(datasetId, dataset.logVersion) : newest;
  return { snapshot, fields: await catalog.fields.all(datasetId) };
}
