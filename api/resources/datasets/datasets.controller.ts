import { viewerOf } from '../../../engine/catalog/access.js';
import type { DatasetFilter } from '../../../engine/catalog/datasets.js';
import { crudController } from '../../http/crud.js';
import { paramIds, omitUndefined, firstParamValue } from '../../http/list-query.js';
import type { QueryParams } from '../../http/page.js';
import type { Caller } from '../../http/api-request.js';
import { createObject } from '../objects/create-object.js';
import { removeFiles } from '../objects/remove-files.js';
import { presenterFor } from '../shared/presenter.js';
import { setStorageClass } from '../shared/storage-class.js';
import { refuseChange, unchangeableMessages } from '../shared/unchangeable.js';
import { dataset, type DatasetContext, type DatasetValues } from '../shared/dataset.js';
import { datasetOperations } from './datasets.operations.js';

/** Datasets: collections of records with typed fields (contract 7). */
export const DatasetsController = crudController<
  'dataset',
  DatasetContext,
  DatasetFilter,
  DatasetValues
>({
  kind: 'dataset',
  operations: datasetOperations,
  declaration: dataset,
  table: ({ datasets }) => datasets,
  filter: datasetFilter,
  contexts: (context, request, rows) => {
    const presenter = presenterFor(context, request);
    return Promise.all(rows.map((row) => presenter.loadDatasetContext(row)));
  },
  create: async (context, { caller, form, values }) => {
    const objectType = 'dataset';
    const createdObject = await createObject(context, caller, form, { ...values, objectType });
    if (!createdObject.dataset) throw new Error('createObject returned no dataset');
    return createdObject.dataset;
  },
  update: async (context, { caller, form, values }, { id, capacity }) => {
    const { storageClass, ...patch } = values;
    const object = await context.catalog.objects.get(id);
    refuseChange(form, 'vault_id', object?.vaultId, unchangeableMessages.vault);
    refuseChange(form, 'capacity', capacity, unchangeableMessages.capacity);
    refuseChange(form, 'fields', undefined, unchangeableMessages.fields);
    refuseChange(form, 'template_id', undefined, unchangeableMessages.template);
    form.throwIfInvalid();
    const changedRow = await context.catalog.transaction(async (tx) => {
      await setStorageClass(tx, caller, id, storageClass);
      await tx.objects.update(id, patch);
      return tx.datasets.get(id);
    });
    context.scheduler.wake();
    return changedRow;
  },
  delete: async (context, { id }) => removeFiles(context, await context.catalog.objects.delete(id)),
});

function datasetFilter(query: QueryParams, caller: Caller): DatasetFilter {
  return {
    viewer: viewerOf(caller),
    ...omitUndefined<DatasetFilter>({
      ids: paramIds(query, 'id'),
      vaultIds: paramIds(query, 'vault_id'),
      name: firstParamValue(query, 'name'),
      tag: firstParamValue(query, 'tags', 'tag'),
      storageClass: firstParamValue(query, 'storage_class'),
    }),
  };
}
