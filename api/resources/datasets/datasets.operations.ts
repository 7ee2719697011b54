import { crudOperations } from '../../http/operation-row.js';
import { dataset, datasetPaths } from '../shared/dataset.js';

export const datasetOperations = crudOperations('datasets', {
  tag: 'Datasets',
  path: '/v2/datasets',
  paths: datasetPaths(''),
  noun: 'a dataset',
  resource: dataset,
  query: {
    id: 'One dataset.',
    vault_id: 'Vault.',
    name: 'Exact name.',
    tags: 'One tag.',
    tag: { sameAs: 'tags' },
    storage_class: 'Storage class.',
  },
  summaries: {
    list: 'Lists the datasets that the user may read.',
    delete: 'Deletes a dataset.',
  },
});
