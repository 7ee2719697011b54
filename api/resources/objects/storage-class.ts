import type { Tables } from '../../../engine/catalog/catalog.js';
import { invalid } from '../../../engine/core/errors.js';

/** Sets a dataset's storage class; moving to and from the archive is refused until its tasks exist. */
export async function setStorageClass(
  tables: Tables,
  datasetId: number,
  storageClass: string | undefined,
): Promise<void> {
  if (storageClass === undefined) return;
  const dataset = await tables.datasets.get(datasetId);
  if (dataset?.storageClass === storageClass) return;
  if (storageClass === 'Archive') throw invalid('storage_class', 'Archiving is not available yet.');
  await tables.datasets.update(datasetId, { storageClass });
}
