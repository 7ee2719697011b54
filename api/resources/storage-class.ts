import type { Tables } from '../../engine/catalog/catalog.js';
import { invalid } from '../../engine/core/errors.js';
import type { Form } from '../http/form.js';
import { oneOf, type ValueType } from '../http/schema.js';

/** The storage classes of contract 7.1; their case matters. */
const storageClasses = [
  'Standard',
  'Standard-IA',
  'Essential',
  'Temporary',
  'Performance',
  'Archive',
];
export const storageClass: ValueType = oneOf(...storageClasses);

/** Reads a storage class from a request. */
export function readStorageClass(form: Form, key: string): string | undefined {
  return form.choice(key, storageClasses);
}

/** Sets a dataset's storage class; throws a 400 for the archive, which is not available yet. */
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
