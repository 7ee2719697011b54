import type { Principal } from '../../../engine/catalog/access.js';
import type { Tables } from '../../../engine/catalog/catalog-tables.js';
import { invalidError } from '../../../engine/core/errors.js';
import type { Form } from '../../http/form.js';
import { enumOf, type ValueType } from '../../http/json-schema.js';

/** The storage classes (contract 7.1); they are case-sensitive. */
const storageClasses = [
  'Standard',
  'Standard-IA',
  'Essential',
  'Temporary',
  'Performance',
  'Archive',
];
export const storageClass: ValueType = enumOf(...storageClasses);

/** Reads a storage class from a request. */
export function readStorageClass(form: Form, key: string): string | undefined {
  return form.choice(key, storageClasses);
}

/**
 * Sets the storage class of a dataset (contract 7.3): `Archive` queues a snapshot task, and any other class of an archived dataset a
 * restore task. Throws a 400 if the dataset cannot be archived, or is being archived or restored to another class. Call `Scheduler.wake`
 * after the transaction. Choice: a dataset that is created with the class Archive, for example by the default of its vault, is available
 * and accepts imports, because an empty dataset has nothing to archive. The first commit that gives it records queues the snapshot task,
 * which waits for the imports that were queued before. If that task is canceled or fails, the dataset gets the class Standard.
 */
export async function setStorageClass(
  tx: Tables,
  caller: Principal,
  datasetId: number,
  storageClass: string | undefined,
): Promise<void> {
  if (storageClass === undefined) return;
  const dataset = await tx.datasets.get(datasetId);
  if (dataset === undefined || dataset.storageClass === storageClass) return;
  const openTask = (await tx.tasks.openTask('snapshot', datasetId)) ?? (await tx.tasks.openTask('restore', datasetId)); // prettier-ignore
  if (openTask !== undefined) {
    const verb = openTask.kind === 'snapshot' ? 'archived' : 'restored';
    const message = `The dataset is being ${verb}: wait for task ${openTask.id}, or cancel it.`;
    throw invalidError('storage_class', message);
  }
  const { user, account } = caller;
  const job = { dataset, storageClass, userId: user.id, accountId: account.id };
  if (dataset.availability === 'archived') {
    await tx.restores.create(job);
  } else if (storageClass !== 'Archive') {
    await tx.datasets.update(datasetId, { storageClass });
  } else {
    if (dataset.availability !== 'available')
      throw invalidError('storage_class', `The dataset is ${dataset.availability} and cannot be archived.`); // prettier-ignore
    await tx.snapshots.create(job);
  }
}
