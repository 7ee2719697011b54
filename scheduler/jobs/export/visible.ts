import type { Tables } from '../../../engine/catalog/catalog.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import { notFound } from '../../../engine/core/errors.js';
import type { Snapshot, Store } from '../../../engine/store/store.js';

/** What a query or an export of a dataset sees. */
export interface Visible {
  readonly snapshot: Snapshot;
  readonly fields: readonly FieldRow[];
}

/**
 * The version that the catalogue has, with its fields. A commit is in the log a moment before the catalogue knows of it, and for
 * that moment it must not show: its records would come without the fields that it brings (threats Q8, D11). A field
 * that is newer than the snapshot does no harm, it has no values there. With `version`, that one.
 */
export async function visibleData(
  catalog: Tables,
  store: Store,
  datasetId: number,
  version?: number,
): Promise<Visible> {
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
